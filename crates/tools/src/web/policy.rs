//! The rules for addresses that may be fetched.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use ostler_domain::address::non_public_range;
use reqwest::ClientBuilder;
use url::{Host, Url};

use super::refusal::AddressRefused;
use super::resolver::{CheckedResolver, HostResolver};

/// Top-level names that are never part of the public internet.
const LOCAL_NAMES: [&str; 16] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "arpa",
    "onion",
    "svc",
    "test",
    "invalid",
    "example",
    "alt",
];
const MAX_URL_BYTES: usize = 4096;

/// The addresses that may be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchPolicy {
    scope: NetworkScope,
    addresses: BTreeSet<IpAddr>,
    ports: BTreeSet<u16>,
    names: BTreeSet<String>,
}

/// Which part of the network a policy allows, besides its exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum NetworkScope {
    /// The public internet, on the ports of the policy.
    #[default]
    PublicPorts,
    /// The public internet, on every port.
    Public,
    /// Every address.
    Everything,
}

impl FetchPolicy {
    /// Allows the public internet on ports 80 and 443, and nothing else.
    pub fn public() -> Self {
        Self { ports: [80, 443].into(), ..Self::default() }
    }

    /// Allows the public internet on every port, for addresses that a person has chosen.
    pub fn public_any_port() -> Self {
        Self { scope: NetworkScope::Public, ..Self::default() }
    }

    /// Allows every address, also of the local network.
    pub fn unrestricted() -> Self {
        Self { scope: NetworkScope::Everything, ..Self::default() }
    }

    /// Makes clients that only connect to allowed addresses, without a proxy. An unrestricted
    /// policy changes nothing.
    pub(crate) fn apply(
        &self,
        builder: ClientBuilder,
        resolver: Arc<dyn HostResolver>,
    ) -> ClientBuilder {
        if self.scope == NetworkScope::Everything {
            return builder;
        }
        let checked = CheckedResolver { policy: self.clone(), resolver };
        builder.dns_resolver(Arc::new(checked)).no_proxy()
    }

    /// Also allows an address, port and host names that are not public. For tests with a
    /// local server.
    #[must_use]
    pub fn allow(mut self, address: IpAddr, port: u16, names: &[&str]) -> Self {
        self.addresses.insert(address);
        self.ports.insert(port);
        self.names.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Checks a URL without a DNS lookup. Fails with the reason why it is not fetched.
    pub fn check(&self, text: &str) -> Result<(), AddressRefused> {
        self.parse_url(text).map(|_| ())
    }

    /// Checks an IP address before a connection.
    pub(super) fn check_address(&self, address: IpAddr) -> Result<(), AddressRefused> {
        if self.scope == NetworkScope::Everything || self.addresses.contains(&address) {
            return Ok(());
        }
        non_public_range(address).map_or(Ok(()), |range| Err(AddressRefused::Address(range)))
    }

    /// Parses and checks a URL without a DNS lookup.
    pub(crate) fn parse_url(&self, text: &str) -> Result<Url, AddressRefused> {
        let written = host_as_written(text)?;
        let url = Url::parse(text).map_err(|_| AddressRefused::InvalidUrl)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressRefused::UserInfo);
        }
        self.check_host(&url, written)?;
        match url.port_or_known_default() {
            Some(_) if self.scope != NetworkScope::PublicPorts => Ok(url),
            Some(port) if self.ports.contains(&port) => Ok(url),
            _ => Err(AddressRefused::Port),
        }
    }

    /// Parses and checks the target of a redirect, which may be relative to `from`.
    pub(super) fn resolve_redirect(
        &self,
        from: &Url,
        location: &str,
    ) -> Result<Url, AddressRefused> {
        if let Some(rest) = location.strip_prefix("//") {
            return self.parse_url(&format!("{}://{rest}", from.scheme()));
        }
        if location.contains("://") && Url::parse(location).is_ok() {
            return self.parse_url(location);
        }
        let joined = from.join(location).map_err(|_| AddressRefused::InvalidUrl)?;
        self.parse_url(joined.as_str())
    }

    fn check_host(&self, url: &Url, written: &str) -> Result<(), AddressRefused> {
        match url.host() {
            Some(Host::Ipv4(address)) => {
                // 2130706433, 0x7f.1 and 0177.0.0.1 are all the same address.
                if written != address.to_string() {
                    return Err(AddressRefused::NonCanonicalAddress);
                }
                self.check_address(address.into())
            }
            Some(Host::Ipv6(address)) => self.check_address(address.into()),
            Some(Host::Domain(name)) => self.check_name(name),
            None => Err(AddressRefused::InvalidUrl),
        }
    }

    pub(super) fn check_name(&self, name: &str) -> Result<(), AddressRefused> {
        let plain = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if self.scope == NetworkScope::Everything || self.names.contains(&plain) {
            return Ok(());
        }
        let last = plain.rsplit('.').next().unwrap_or_default();
        let local = !plain.contains('.')
            || plain.split('.').any(str::is_empty)
            || LOCAL_NAMES.contains(&last)
            || last.bytes().all(|c| c.is_ascii_digit());
        if local { Err(AddressRefused::Name(plain)) } else { Ok(()) }
    }
}

/// Returns the host as it is written. URL parsers disagree on unusual forms, which
/// attackers use to get past checks, so unusual forms are refused.
fn host_as_written(text: &str) -> Result<&str, AddressRefused> {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if text.len() > MAX_URL_BYTES || text.contains(forbidden) {
        return Err(AddressRefused::InvalidUrl);
    }
    let (scheme, rest) = text.split_once("://").ok_or(AddressRefused::InvalidUrl)?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(AddressRefused::InvalidUrl);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(AddressRefused::UserInfo);
    }
    if authority.contains('%') || authority.is_empty() {
        return Err(AddressRefused::InvalidUrl);
    }
    if authority.starts_with('[') {
        return Ok(authority);
    }
    Ok(authority.split(':').next().unwrap_or_default())
}
