//! The address of a page, checked as far as it can be without a look-up.

use std::collections::BTreeSet;
use std::net::IpAddr;

use url::{Host, Url};

use super::address::{Refused, check};

/// Names that are never of the public internet, with all that ends in them.
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
/// The longest address.
const MAX_URL: usize = 4096;

/// Where one may go.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    addresses: BTreeSet<IpAddr>,
    ports: BTreeSet<u16>,
    names: BTreeSet<String>,
}

impl Policy {
    /// The public internet on the ports of the web, and nothing else.
    pub fn public() -> Self {
        Self { ports: [80, 443].into(), ..Self::default() }
    }

    /// Besides, this address on this port by these names; for tests against a
    /// server of their own.
    #[must_use]
    pub fn and(mut self, address: IpAddr, port: u16, names: &[&str]) -> Self {
        self.addresses.insert(address);
        self.ports.insert(port);
        self.names.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Says why an address of a page would not be fetched, as far as that can be
    /// seen without looking its name up.
    pub fn check(&self, text: &str) -> Result<(), Refused> {
        self.target(text).map(|_| ())
    }

    /// Whether one may connect to an address.
    pub(super) fn check_address(&self, address: IpAddr) -> Result<(), Refused> {
        if self.addresses.contains(&address) { Ok(()) } else { check(address) }
    }

    /// Reads an address of a page and says why it is not fetched, if it is not.
    pub(super) fn target(&self, text: &str) -> Result<Url, Refused> {
        let written = host_as_written(text)?;
        let url = Url::parse(text).map_err(|_| Refused::NotAUrl)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::UserInfo);
        }
        self.check_host(&url, written)?;
        match url.port_or_known_default() {
            Some(port) if self.ports.contains(&port) => Ok(url),
            _ => Err(Refused::Port),
        }
    }

    /// Where a redirect leads, which may be written relative to where one was.
    pub(super) fn redirect(&self, from: &Url, location: &str) -> Result<Url, Refused> {
        if let Some(rest) = location.strip_prefix("//") {
            return self.target(&format!("{}://{rest}", from.scheme()));
        }
        if location.contains("://") && Url::parse(location).is_ok() {
            return self.target(location);
        }
        let joined = from.join(location).map_err(|_| Refused::NotAUrl)?;
        self.target(joined.as_str())
    }

    fn check_host(&self, url: &Url, written: &str) -> Result<(), Refused> {
        match url.host() {
            Some(Host::Ipv4(address)) => {
                // 2130706433, 0x7f.1 and 0177.0.0.1 are all the same address.
                if written != address.to_string() {
                    return Err(Refused::OddAddress);
                }
                self.check_address(address.into())
            }
            Some(Host::Ipv6(address)) => self.check_address(address.into()),
            Some(Host::Domain(name)) => self.check_name(name),
            None => Err(Refused::NotAUrl),
        }
    }

    pub(super) fn check_name(&self, name: &str) -> Result<(), Refused> {
        let plain = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if self.names.contains(&plain) {
            return Ok(());
        }
        let last = plain.rsplit('.').next().unwrap_or_default();
        let local = !plain.contains('.')
            || plain.split('.').any(str::is_empty)
            || LOCAL_NAMES.contains(&last)
            || last.bytes().all(|c| c.is_ascii_digit());
        if local { Err(Refused::Name(plain)) } else { Ok(()) }
    }
}

/// The host as it was written. Readers of addresses disagree on odd ones, and
/// between two readings something slips through; so odd ones are refused.
fn host_as_written(text: &str) -> Result<&str, Refused> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if text.len() > MAX_URL || text.contains(odd) {
        return Err(Refused::NotAUrl);
    }
    let (scheme, rest) = text.split_once("://").ok_or(Refused::NotAUrl)?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(Refused::NotAUrl);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(Refused::UserInfo);
    }
    if authority.contains('%') || authority.is_empty() {
        return Err(Refused::NotAUrl);
    }
    if authority.starts_with('[') {
        return Ok(authority);
    }
    Ok(authority.split(':').next().unwrap_or_default())
}
