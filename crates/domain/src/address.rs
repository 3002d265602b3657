//! Which addresses are the public internet, and which lead into somebody's own
//! network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Blocks of IPv4 that are not the public internet: first address, length of the
/// prefix, what it is.
const V4: [([u8; 4], u32, &str); 21] = [
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

/// Blocks of IPv6 inside the global ones that are not the public internet, or
/// that carry an address of IPv4 which nobody has looked at.
const V6: [([u16; 8], u32, &str); 6] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "reserved"),
    ([0x2001, 0x0db8, 0, 0, 0, 0, 0, 0], 32, "for documentation"),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "a 6to4 address"),
    ([0x2620, 0x004f, 0x8000, 0, 0, 0, 0, 0], 48, "reserved"),
    ([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16, "reserved"),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "for documentation"),
];

/// What an address is, if it is not part of the public internet.
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

fn v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    let within = |first: [u8; 4], length: u32| {
        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        bits & mask == u32::from(Ipv4Addr::from(first)) & mask
    };
    V4.iter().find(|(first, length, _)| within(*first, *length)).map(|(_, _, why)| *why)
}

/// Only 2000::/3 is given out to the public. Everything else is refused: loopback,
/// unique local, link-local, multicast, and addresses of IPv4 that are mapped or
/// translated.
fn v6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = u128::from(address);
    if bits >> 125 != 0b001 {
        return Some("local or reserved");
    }
    // ISATAP: the last half carries an address of IPv4.
    if matches!(address.segments(), [_, _, _, _, 0 | 0x200, 0x5efe, _, _]) {
        return Some("a tunnel");
    }
    let within = |first: [u16; 8], length: u32| {
        let mask = u128::MAX << (128 - length);
        bits & mask == u128::from(Ipv6Addr::from(first)) & mask
    };
    V6.iter().find(|(first, length, _)| within(*first, *length)).map(|(_, _, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::not_public;

    #[test]
    fn only_the_public_internet_is_public() {
        for public in ["93.184.216.34", "1.1.1.1", "2606:2800:220:1::1"] {
            assert_eq!(not_public(public.parse().unwrap()), None, "{public}");
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
        for (address, what) in table {
            assert_eq!(not_public(address.parse().unwrap()), Some(what), "{address}");
        }
    }
}
