//! Which hosts may be contacted. Orgs write the settings of their bindings and so
//! choose hosts; none of them may reach the network of the installation.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ostler_domain::address::non_public_range;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Which addresses connections may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NetworkAccess {
    #[default]
    Public,
    /// Any address: for a gateway or mail server in the operator's own network.
    Unrestricted,
}

impl NetworkAccess {
    /// Resolves a host. Fails if any of its addresses is not allowed. The caller
    /// connects to the returned addresses, so they cannot change after the check.
    pub(crate) async fn resolve_host(self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
        for address in &addresses {
            self.check(address.ip())?;
        }
        Ok(addresses)
    }

    /// Checks a URL whose host is an IP address or this machine. Other names are checked
    /// when they are resolved.
    pub(crate) fn check_url(self, url: &Url) -> io::Result<()> {
        match url.host() {
            Some(Host::Ipv4(address)) => self.check(address.into()),
            Some(Host::Ipv6(address)) => self.check(address.into()),
            Some(Host::Domain("localhost")) => self.check(Ipv4Addr::LOCALHOST.into()),
            Some(Host::Domain(_)) | None => Ok(()),
        }
    }

    fn check(self, address: IpAddr) -> io::Result<()> {
        match non_public_range(address) {
            Some(range) if self == Self::Public => Err(io::Error::other(format!(
                "its address is {range} and not part of the public internet"
            ))),
            _ => Ok(()),
        }
    }
}

impl Resolve for NetworkAccess {
    fn resolve(&self, name: Name) -> Resolving {
        let access = *self;
        Box::pin(async move {
            // reqwest replaces the port 0 by the port of the request.
            let addresses: Addrs =
                Box::new(access.resolve_host(name.as_str(), 0).await?.into_iter());
            Ok(addresses)
        })
    }
}
