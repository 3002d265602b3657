//! Classification of IP addresses: which ranges are not part of the public
//! internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not public: first address, prefix length, description.
const NON_PUBLIC_V4: [([u8; 4], u32, &str); 21] = [
    ([0, 0, 0, 0], 8, "unspecified"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "shared by a provider"),
    ([127, 0, 0, 0], 8, "this machine"),
    ([168, 63, 129, 16], 32, "a cloud's metadata service"),
    ([169, 254, 0, 0], 16, "link-local"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "reserved"),
    ([192, 0, 2, 0], 24, "for documentation"),
    ([192, 31, 196, 0], 24, "reserved"),
    ([192, 52, 193, 0], 24, "reserved"),
    ([192, 88, 99, 0], 24, "a relay"),
    ([192, 168, 0, 0], 16, "private"),
    ([192, 175, 48, 0], 24, "reserved"),
    ([198, 18, 0, 0], 15, "for benchmarks"),
    ([198, 51, 100, 0], 24, "for documentation"),
    ([203, 0, 113, 0], 24, "for documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([233, 252, 0, 0], 24, "for documentation"),
    ([240, 0, 0, 0], 4, "reserved"),
    ([255, 255, 255, 255], 32, "broadcast"),
];

/// IPv6 blocks inside 2000::/3 that are not public, or that embed an unchecked IPv4
/// address.
const NON_PUBLIC_V6: [([u16; 8], u32, &str); 6] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "reserved"),
    ([0x2001, 0x0db8, 0, 0, 0, 0, 0, 0], 32, "for documentation"),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "a 6to4 address"),
    ([0x2620, 0x004f, 0x8000, 0, 0, 0, 0, 0], 48, "reserved"),
    ([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16, "reserved"),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "for documentation"),
];

/// Describes the range of an address that is not public. Returns `None` for a
/// public address.
pub fn non_public_range(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => non_public_v4_range(address),
        IpAddr::V6(address) => non_public_v6_range(address),
    }
}

fn non_public_v4_range(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    let is_in = |first: [u8; 4], prefix_length: u32| {
        let mask = u32::MAX.checked_shl(32 - prefix_length).unwrap_or(0);
        bits & mask == u32::from(Ipv4Addr::from(first)) & mask
    };
    NON_PUBLIC_V4
        .iter()
        .find(|(first, prefix_length, _)| is_in(*first, *prefix_length))
        .map(|(_, _, description)| *description)
}

/// Refuses everything outside 2000::/3, the only public block: loopback, unique
/// local, link-local, multicast, and mapped or translated IPv4 addresses.
fn non_public_v6_range(address: Ipv6Addr) -> Option<&'static str> {
    let bits = u128::from(address);
    if bits >> 125 != 0b001 {
        return Some("local or reserved");
    }
    // ISATAP: the lower half embeds an IPv4 address.
    if matches!(address.segments(), [_, _, _, _, 0 | 0x200, 0x5efe, _, _]) {
        return Some("a tunnel");
    }
    let is_in = |first: [u16; 8], prefix_length: u32| {
        let mask = u128::MAX << (128 - prefix_length);
        bits & mask == u128::from(Ipv6Addr::from(first)) & mask
    };
    NON_PUBLIC_V6
        .iter()
        .find(|(first, prefix_length, _)| is_in(*first, *prefix_length))
        .map(|(_, _, description)| *description)
}

#[cfg(test)]
mod tests {
    use super::non_public_range;

    #[test]
    fn only_the_public_internet_is_public() {
        for public in ["93.184.216.34", "1.1.1.1", "2606:2800:220:1::1"] {
            assert_eq!(non_public_range(public.parse().unwrap()), None, "{public}");
        }
        let table = [
            ("127.0.0.1", "this machine"),
            ("10.1.2.3", "private"),
            ("192.168.1.1", "private"),
            ("169.254.169.254", "link-local"),
            ("::1", "local or reserved"),
            ("::ffff:10.0.0.1", "local or reserved"),
            ("fd00::1", "local or reserved"),
            ("2002:7f00:1::", "a 6to4 address"),
        ];
        for (address, expected) in table {
            assert_eq!(non_public_range(address.parse().unwrap()), Some(expected), "{address}");
        }
    }
}
