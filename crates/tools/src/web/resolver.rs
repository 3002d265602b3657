//! DNS lookups with checked results, so that a connection only uses addresses that
//! passed the check.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::policy::FetchPolicy;

/// A source of the IP addresses of host names.
pub trait HostResolver: Send + Sync {
    /// Returns the addresses of a name. Fails if the lookup fails.
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl HostResolver for SystemResolver {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A resolver that returns allowed addresses only. A name with any address that is not
/// allowed is refused as a whole.
pub(super) struct CheckedResolver {
    pub(super) policy: FetchPolicy,
    pub(super) resolver: Arc<dyn HostResolver>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.policy.clone();
        let lookup = self.resolver.resolve(name.as_str().to_owned());
        Box::pin(async move {
            policy.check_name(name.as_str())?;
            let found = lookup.await?;
            for address in &found {
                policy.check_address(*address)?;
            }
            if found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "no address").into());
            }
            // The HTTP client replaces the port by that of the URL.
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            let addresses: Addrs = Box::new(addresses);
            Ok(addresses)
        })
    }
}
