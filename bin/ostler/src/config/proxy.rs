//! The network of a trusted proxy.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// An address or a network, such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ProxyNetwork(pub(crate) IpNet);

impl TryFrom<String> for ProxyNetwork {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let address = text.parse::<std::net::IpAddr>().map(IpNet::from).ok();
        address.or_else(|| text.parse().ok()).map(Self).ok_or_else(|| {
            format!("`{text}` is neither an address nor a network such as 10.0.0.0/8")
        })
    }
}

impl From<ProxyNetwork> for String {
    fn from(network: ProxyNetwork) -> Self {
        network.0.to_string()
    }
}
