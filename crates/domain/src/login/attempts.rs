//! How often a log-in may be tried. Attempts are counted by the hour, whether the account
//! exists or not.
//!
//! Nobody locks out another person: the strict limits are those of an address. The limit of
//! an account is only for addresses from which nobody is logged in to it.

use std::net::{IpAddr, Ipv6Addr};

/// Attempts for one account from one address.
const OF_ACCOUNT_AND_ADDRESS: u32 = 20;
/// Attempts from one address, for all accounts.
const OF_ADDRESS: u32 = 300;
/// Attempts for one account from addresses that are not known for it.
const OF_ACCOUNT: u32 = 1000;

/// Whether somebody is logged in to the account from the address of the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressFamiliarity {
    Known,
    Unknown,
}

/// A counter of attempts and its limit for an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptCounter {
    pub name: String,
    pub limit: u32,
}

/// Returns the counters of an attempt. It is allowed if all of them are below their limits.
/// `account` is a hash, so that no e-mail address is stored.
pub fn attempt_counters(
    account: &str,
    address: IpAddr,
    familiarity: AddressFamiliarity,
) -> Vec<AttemptCounter> {
    let network = client_network(address);
    let counter = |name: String, limit| AttemptCounter { name, limit };
    let mut counters = vec![
        counter(format!("both/{account}/{network}"), OF_ACCOUNT_AND_ADDRESS),
        counter(format!("address/{network}"), OF_ADDRESS),
    ];
    if familiarity == AddressFamiliarity::Unknown {
        counters.push(counter(format!("account/{account}"), OF_ACCOUNT));
    }
    counters
}

/// Returns the network that one client controls: an IPv4 address, or the /64 of an IPv6
/// address.
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::AddressFamiliarity::{Known, Unknown};
    use super::{attempt_counters, client_network};

    #[test]
    fn s13_an_address_is_limited_more_strictly_than_an_account() {
        let counters = |familiarity| {
            let all = attempt_counters("ada", "192.0.2.1".parse().unwrap(), familiarity);
            all.into_iter().map(|one| (one.name, one.limit)).collect::<Vec<_>>()
        };
        let of_address =
            [("both/ada/192.0.2.1".to_owned(), 20), ("address/192.0.2.1".to_owned(), 300)];
        assert_eq!(counters(Known), of_address);
        assert_eq!(counters(Unknown)[..2], of_address);
        assert_eq!(counters(Unknown)[2], ("account/ada".to_owned(), 1000));
    }

    #[test]
    fn s13_addresses_of_one_client_count_together() {
        for (address, network) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ] {
            assert_eq!(client_network(address.parse().unwrap()).to_string(), network);
        }
    }
}
