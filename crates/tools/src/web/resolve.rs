//! Looking names up, with the check in the same breath: what is connected to is
//! what was looked at.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::target::Policy;

/// Something that knows which addresses a name stands for.
pub trait Lookup: Send + Sync {
    /// The addresses of a name.
    fn addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The look-up of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A look-up that answers with public addresses only. A name that stands for one
/// that is not public is refused as a whole.
pub(super) struct Checked {
    pub(super) policy: Policy,
    pub(super) lookup: Arc<dyn Lookup>,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.policy.clone();
        let looked_up = self.lookup.addresses(name.as_str().to_owned());
        Box::pin(async move {
            policy.check_name(name.as_str())?;
            let found = looked_up.await?;
            for address in &found {
                policy.check_address(*address)?;
            }
            if found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "no address").into());
            }
            // The port of the page takes the place of this one.
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            let addresses: Addrs = Box::new(addresses);
            Ok(addresses)
        })
    }
}
