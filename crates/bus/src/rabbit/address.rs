//! The address of a broker: a broker on another machine is reached over TLS only.

use std::str::FromStr as _;

use lapin::tcp::OwnedTLSConfig;
use lapin::uri::{AMQPScheme, AMQPUri};

use crate::error::{BusError, Result};

/// The parameter with the file of the certificates that are trusted, as other clients call it.
const ROOT_FILE: &str = "cacertfile=";

/// Where a broker is and how to connect to it.
#[derive(Clone)]
pub(super) struct BrokerAddress {
    pub(super) uri: AMQPUri,
    pub(super) tls: OwnedTLSConfig,
}

impl BrokerAddress {
    /// Parses `amqp://…` or `amqps://…`.
    pub(super) fn parse(address: &str) -> Result<Self> {
        let (address, root_file) = split_root_file(address);
        // The parse error is dropped because it would show the password.
        let uri = AMQPUri::from_str(&address).map_err(|_| BusError::InvalidAddress)?;
        if uri.scheme == AMQPScheme::AMQP && !is_local(&uri.authority.host) {
            return Err(BusError::NotEncrypted(uri.authority.host));
        }
        let cert_chain = root_file.map(|path| {
            std::fs::read_to_string(&path).map_err(|error| {
                let reason = error.to_string();
                BusError::RootCertificates { path, reason }
            })
        });
        let tls = OwnedTLSConfig { identity: None, cert_chain: cert_chain.transpose()? };
        Ok(Self { uri, tls })
    }
}

fn is_local(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Takes the file with root certificates out of an address.
fn split_root_file(address: &str) -> (String, Option<String>) {
    let Some((base, query)) = address.rsplit_once('?') else { return (address.to_owned(), None) };
    let (files, others): (Vec<&str>, Vec<&str>) =
        query.split('&').partition(|part| part.starts_with(ROOT_FILE));
    let file = files.last().and_then(|part| part.strip_prefix(ROOT_FILE)).map(str::to_owned);
    let rest = others.join("&");
    let address = if rest.is_empty() { base.to_owned() } else { format!("{base}?{rest}") };
    (address, file)
}

#[cfg(test)]
mod tests {
    use super::BrokerAddress;
    use crate::error::BusError;

    /// S07: a broker on another machine is reached over TLS only.
    #[test]
    fn s07_other_brokers_are_reached_over_tls_only() {
        for (address, accepted) in [
            ("amqp://guest:guest@localhost:5672", true),
            ("amqp://127.0.0.1/%2f?heartbeat=10", true),
            ("amqp://[::1]:5672", true),
            ("amqps://mq.example/vhost", true),
            ("amqp://mq.example/vhost", false),
            ("amqp://10.0.0.5", false),
        ] {
            match BrokerAddress::parse(address) {
                Ok(_) => assert!(accepted, "{address}"),
                Err(BusError::NotEncrypted(_)) => assert!(!accepted, "{address}"),
                Err(other) => panic!("{address}: {other}"),
            }
        }
        let missing = BrokerAddress::parse("amqps://mq.example?heartbeat=5&cacertfile=/no/file");
        let expected = "/no/file".to_owned();
        assert!(
            matches!(missing, Err(BusError::RootCertificates { path, .. }) if path == expected)
        );
    }
}
