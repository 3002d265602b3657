//! Addresses that are not public are refused in every notation.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_tools::web::{FetchError, FetchPolicy, Fetcher, HostResolver};
use proptest::prelude::{any, proptest};

/// A resolver for names that spell an address: `127-0-0-1.test.com`.
struct SpelledAddresses;

impl HostResolver for SpelledAddresses {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let first = name.split('.').next().unwrap_or_default();
            let address = first.strip_prefix("v6-").map_or_else(
                || first.replace('-', ".").parse::<IpAddr>(),
                |v6| v6.replace('-', ":").parse::<IpAddr>(),
            );
            let unknown = |_| io::Error::new(io::ErrorKind::NotFound, "unknown");
            Ok(vec![address.map_err(unknown)?])
        })
    }
}

const REFUSED: &[&str] = &[
    // This machine.
    "http://127.0.0.1/",
    "https://127.0.0.1/",
    "http://127.0.0.1:80/",
    "http://127.1.2.3/",
    "http://127.255.255.254/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://localhost.localdomain/",
    "http://app.localhost/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::1]:80/",
    "http://0.0.0.0/",
    "http://0.1.2.3/",
    "http://[::]/",
    // Private networks.
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://192.168.1.254/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://[fc00::1]/",
    "http://[fd12:3456:789a::1]/",
    "http://[fec0::1]/",
    // Link-local and metadata services.
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.0.1/",
    "http://169.254.170.2/v2/credentials",
    "http://100.100.100.200/latest/meta-data/",
    "http://192.0.0.192/opc/v1/",
    "http://168.63.129.16/machine",
    "http://[fe80::1]/",
    "http://[febf::1]/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://metadata.google.internal./",
    "http://metadata/",
    "http://instance-data.ec2.internal/",
    "http://kubernetes.default.svc/",
    "http://kubernetes.default.svc.cluster.local/",
    // Multicast, broadcast, reserved, documentation, benchmarks.
    "http://224.0.0.1/",
    "http://239.255.255.255/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://192.0.0.1/",
    "http://192.0.2.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://198.18.0.1/",
    "http://198.19.255.255/",
    "http://192.88.99.1/",
    "http://[ff02::1]/",
    "http://[ff0e::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[100::1]/",
    "http://[5f00::1]/",
    // IPv4 addresses inside IPv6 addresses.
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001::1]/",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "http://[2001:10::1]/",
    "http://[2001:20::1]/",
    "http://[2a00:1450::5efe:7f00:1]/",
    "http://[2a00:1450::200:5efe:a9fe:a9fe]/",
    // Unusual notations, also of public addresses.
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.0.0.1./",
    "http://0/",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://134744072/",
    "http://0x08080808/",
    "http://010.8.8.8/",
    "http://8.8.2056/",
    "http://127。0。0。1/",
    "http://１２７.０.０.１/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127%2e0%2e0%2e1/",
    "http://%31%32%37.0.0.1/",
    "http://256.256.256.256/",
    "http://1.2.3.4.5/",
    "http://example.com.127/",
    // User names and passwords.
    "http://user@8.8.8.8/",
    "http://user:password@example.com/",
    "http://example.com@127.0.0.1/",
    "http://127.0.0.1@example.com/",
    "http://@example.com/",
    "http://example.com%40127.0.0.1/",
    "http://example.com:80@127.0.0.1/",
    "http://example.com\\@127.0.0.1/",
    "http://127.0.0.1\\@example.com/",
    // Ports other than 80 and 443.
    "http://8.8.8.8:22/",
    "http://8.8.8.8:25/",
    "http://8.8.8.8:6379/",
    "https://8.8.8.8:8443/",
    "http://8.8.8.8:0/",
    "http://example.com:11211/",
    // Other schemes, and texts that are not addresses.
    "file:///etc/passwd",
    "ftp://8.8.8.8/",
    "gopher://8.8.8.8:80/_x",
    "dict://8.8.8.8:80/",
    "data:text/plain,hi",
    "javascript:alert(1)",
    "jar:http://8.8.8.8/!/",
    "ldap://8.8.8.8/",
    "http:8.8.8.8",
    "http:/8.8.8.8/",
    "http:///8.8.8.8/",
    "//8.8.8.8/",
    "8.8.8.8",
    "",
    "http://",
    "http://./",
    "http://../",
    "http://a..b/",
    "http://[::1/",
    "http://[fe80::1%25eth0]/",
    "http://exa mple.com/",
    "http://example.com\r\nHost: internal/",
    "http://exam\tple.com/",
    " http://8.8.8.8/",
    // Names that are never public.
    "http://intranet/",
    "http://printer.local/",
    "http://router.lan/",
    "http://nas.home.arpa/",
    "http://1.0.0.127.in-addr.arpa/",
    "http://hidden.onion/",
    "http://db.internal/",
    "http://build.corp/",
    "http://example.test/",
    // Names that resolve to addresses that are not public.
    "http://127-0-0-1.spelled.com/",
    "https://127-0-0-1.spelled.com/",
    "http://127-0-0-1.spelled.com./",
    "http://10-1-2-3.spelled.com/",
    "http://169-254-169-254.spelled.com/",
    "http://192-168-0-1.spelled.com/",
    "http://100-100-100-200.spelled.com/",
    "http://0-0-0-0.spelled.com/",
    "http://v6---1.spelled.com/",
    "http://v6-fe80--1.spelled.com/",
    "http://v6--\u{AD}-1.spelled.com/",
    "http://v6-fd00-ec2--254.spelled.com/",
    "http://v6-2002-7f00-1--1.spelled.com/",
    "http://v6-64-ff9b--7f00-1.spelled.com/",
    "http://v6---ffff-7f00-1.spelled.com/",
];

#[tokio::test]
async fn addresses_that_are_not_public_are_refused() {
    let fetcher = Fetcher::new(FetchPolicy::public(), Arc::new(SpelledAddresses)).unwrap();
    assert!(REFUSED.len() >= 150, "{}", REFUSED.len());
    for url in REFUSED {
        let fetched = fetcher.fetch(url).await;
        assert!(matches!(fetched, Err(FetchError::Refused(_))), "{url}: {fetched:?}");
    }
}

#[test]
fn public_addresses_are_not_refused() {
    for url in [
        "http://8.8.8.8/",
        "https://8.8.8.8:443/x?y#z",
        "http://[2a00:1450:4001:82b::200e]/",
        "http://[2606:4700::1111]/",
        "https://example.com/a@b",
        "http://example.com#@127.0.0.1:99999/",
        "HTTPS://Example.COM./",
        "http://bücher.example.com/",
        "http://172.32.0.1/",
        "http://100.63.255.255/",
        "http://192.167.255.255/",
        "http://11.0.0.1/",
    ] {
        assert_eq!(FetchPolicy::public().check(url), Ok(()), "{url}");
    }
}

proptest! {
    /// An IPv4 address inside an IPv6 address or in an unusual notation is refused.
    #[test]
    fn disguised_addresses_are_refused(bits in any::<u32>()) {
        let [a, b, c, d] = bits.to_be_bytes();
        let (high, low) = (bits >> 16, bits & 0xffff);
        for url in [
            format!("http://{bits}/"),
            format!("http://{bits:#x}/"),
            format!("http://0{bits:o}/"),
            format!("http://{a}.{b}.{low}/"),
            format!("http://{a:#x}.{b:#x}.{c:#x}.{d:#x}/"),
            format!("http://[::ffff:{high:x}:{low:x}]/"),
            format!("http://[64:ff9b::{high:x}:{low:x}]/"),
            format!("http://[2002:{high:x}:{low:x}::1]/"),
            format!("http://[2001:0:0:0:0:0:{high:x}:{low:x}]/"),
        ] {
            assert!(FetchPolicy::public().check(&url).is_err(), "{url}");
        }
    }

    #[test]
    fn any_text_is_checked_without_panic(text in any::<String>()) {
        let _ = FetchPolicy::public().check(&text);
        let _ = FetchPolicy::public().check(&format!("http://{text}"));
    }
}
