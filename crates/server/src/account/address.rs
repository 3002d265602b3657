//! The network address of a client. A header is believed only from a trusted proxy.

use std::net::{IpAddr, SocketAddr};

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use ipnet::IpNet;

use crate::error::{ApiError, Result};
use crate::server::Server;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The other end of the connection; an extension of each request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) SocketAddr);

/// The network address of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl FromRequestParts<Server> for ClientAddress {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self> {
        let peer = parts.extensions.get::<PeerAddress>();
        let PeerAddress(peer) =
            peer.ok_or_else(|| ApiError::internal(&"a request without an address"))?;
        let trusted = &server.accounts.options.trusted_proxies;
        Ok(Self(client_address(peer.ip(), &parts.headers, trusted)))
    }
}

/// Returns the last address that a trusted proxy did not write itself. What stands before it
/// may be made up by the client.
fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| {
        let address = address.to_canonical();
        trusted.iter().any(|network| network.contains(&address))
    };
    let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok());
    let forwarded: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    let mut address = peer.to_canonical();
    for hop in forwarded.iter().rev() {
        if !is_trusted(&address) {
            break;
        }
        // What is no address is worth less than the proxy's own.
        let Ok(next) = hop.parse::<IpAddr>() else { break };
        address = next.to_canonical();
    }
    address
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::client_address;

    #[test]
    fn s12_a_forwarded_address_is_believed_only_from_trusted_proxies() {
        let trusted = ["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        for (peer, header, expected) in [
            ("192.0.2.7", None, "192.0.2.7"),
            ("192.0.2.7", Some("198.51.100.1"), "192.0.2.7"),
            ("10.1.1.1", Some("198.51.100.1"), "198.51.100.1"),
            ("10.1.1.1", Some("203.0.113.9, 198.51.100.1"), "198.51.100.1"),
            ("10.1.1.1", Some("198.51.100.1, 10.2.2.2"), "198.51.100.1"),
            ("10.1.1.1", Some("made up"), "10.1.1.1"),
            ("10.1.1.1", Some(""), "10.1.1.1"),
            ("::ffff:10.1.1.1", Some("2001:db8::1"), "2001:db8::1"),
            ("fd00::1", Some("198.51.100.1"), "198.51.100.1"),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.append("x-forwarded-for", header.parse().unwrap());
            }
            let found = client_address(peer.parse().unwrap(), &headers, &trusted);
            assert_eq!(found.to_string(), expected, "{peer} {header:?}");
        }
    }
}
