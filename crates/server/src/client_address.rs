//! The address of a client, also behind proxies.
//!
//! A proxy adds the address of its client to `X-Forwarded-For`. Only proxies that are trusted
//! are believed: the client is the last address that is none of them.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use axum::http::HeaderMap;
use ipnet::IpNet;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// A network of addresses such as `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpNet);

/// A text that is neither an address nor a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither an address such as 10.0.0.1 nor a network such as 10.0.0.0/8")]
pub struct InvalidNetwork(String);

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let address = text.parse::<IpAddr>().map(IpNet::from).ok();
        let network = address.or_else(|| text.parse().ok());
        network.map(Self).ok_or_else(|| InvalidNetwork(text.to_owned()))
    }
}

impl Network {
    fn contains(self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

/// The proxies that are believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedProxies(Vec<Network>);

impl Default for TrustedProxies {
    /// Trusts proxies on this machine.
    fn default() -> Self {
        let loopback = ["127.0.0.0/8", "::1"];
        Self(loopback.into_iter().filter_map(|network| network.parse().ok()).collect())
    }
}

impl TrustedProxies {
    /// Trusts these networks only.
    pub const fn new(networks: Vec<Network>) -> Self {
        Self(networks)
    }

    /// Returns whether an address is that of a trusted proxy.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// Returns the address of the client of a request that came from `peer`.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer;
        let values = headers.get_all(FORWARDED_FOR).iter().rev();
        let forwarded = values.flat_map(|value| value.to_str().unwrap_or("?").rsplit(','));
        for address in forwarded {
            if !self.contains(client) {
                break;
            }
            let Ok(address) = address.trim().parse() else { break };
            client = address;
        }
        client
    }
}

/// Returns the address under which a client is counted: a network of 64 bits on IPv6, because
/// one client has all of its addresses.
pub(crate) fn counted_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) >> 64 << 64)),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use axum::http::{HeaderMap, HeaderValue};

    use super::{Network, TrustedProxies, counted_address};

    fn client(trusted: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let trusted = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", HeaderValue::from_str(value).unwrap());
        }
        TrustedProxies::new(trusted).client(peer.parse().unwrap(), &headers).to_string()
    }

    /// S06: only trusted proxies are believed, from the last one backwards.
    #[test]
    fn s06_only_trusted_proxies_are_believed() {
        let proxies = ["10.0.0.0/8", "::1"];
        for (peer, forwarded, expected) in [
            ("10.1.2.3", &["1.1.1.1"] as &[&str], "1.1.1.1"),
            ("10.1.2.3", &["9.9.9.9, 1.1.1.1"], "1.1.1.1"),
            ("10.1.2.3", &["9.9.9.9", "1.1.1.1, 10.0.0.7"], "1.1.1.1"),
            ("10.1.2.3", &["nonsense"], "10.1.2.3"),
            ("10.1.2.3", &["9.9.9.9, nonsense"], "10.1.2.3"),
            ("10.1.2.3", &[], "10.1.2.3"),
            ("::1", &["2001:db8::1"], "2001:db8::1"),
            ("8.8.8.8", &["1.1.1.1"], "8.8.8.8"),
            ("::ffff:10.1.2.3", &["1.1.1.1"], "1.1.1.1"),
        ] {
            assert_eq!(client(&proxies, peer, forwarded), expected, "{peer} {forwarded:?}");
        }
        assert_eq!(client(&[], "127.0.0.1", &["1.1.1.1"]), "127.0.0.1");
        let local = TrustedProxies::default();
        assert!(local.contains("127.0.0.1".parse().unwrap()));
        assert!(!local.contains("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn networks_are_parsed() {
        for text in ["10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "::/0", "2001:db8::/32"] {
            assert!(text.parse::<Network>().is_ok(), "{text}");
        }
        for text in ["", "10.0.0.0/33", "10.0.0/8", "host", "::/129", "1.2.3.4/x"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    /// S06: a client with many IPv6 addresses is one client.
    #[test]
    fn s06_an_ipv6_network_counts_as_one_client() {
        let counted = |text: &str| counted_address(text.parse::<IpAddr>().unwrap()).to_string();
        assert_eq!(counted("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(counted("::ffff:1.2.3.4"), "1.2.3.4");
        assert_eq!(counted("1.2.3.4"), "1.2.3.4");
    }
}
