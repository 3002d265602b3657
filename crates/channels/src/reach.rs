//! Where the settings of a binding may lead. Whoever writes them chooses hosts,
//! and on a platform of many orgs none of them may lead into our own network.

use std::io;
use std::net::{IpAddr, SocketAddr};

use ostler_domain::address::not_public;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Where connections may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// To the public internet only.
    #[default]
    Public,
    /// Anywhere, for whoever runs a gateway or a mail server in their own network.
    Anywhere,
}

impl Reach {
    /// The addresses of a host, if all of them may be reached: what was looked at
    /// is what is connected to.
    pub(crate) async fn look_up(self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
        for address in &found {
            self.check(address.ip())?;
        }
        Ok(found)
    }

    /// Whether an address that is written as a number may be reached. Names are
    /// looked at when they are looked up.
    pub(crate) fn check_url(self, url: &Url) -> io::Result<()> {
        match url.host() {
            Some(Host::Ipv4(address)) => self.check(address.into()),
            Some(Host::Ipv6(address)) => self.check(address.into()),
            Some(Host::Domain(_)) | None => Ok(()),
        }
    }

    fn check(self, address: IpAddr) -> io::Result<()> {
        let why = not_public(address).filter(|_| self == Self::Public);
        why.map_or(Ok(()), |why| {
            Err(io::Error::other(format!("its address is {why} and not of the public internet")))
        })
    }
}

impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = *self;
        Box::pin(async move {
            // The port of the request takes the place of this one.
            let found = reach.look_up(name.as_str(), 0).await?;
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}
