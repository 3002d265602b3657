//! From where a request to the MCP server may come. A page of another site that has pointed
//! its own name at this machine (DNS rebinding) is refused.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};
use ostler_api::problem::ProblemCode;
use url::{Host, Url};

use crate::error::{ApiError, Result};

/// Checks the `Host` and the `Origin` of a request.
pub(super) fn check(headers: &HeaderMap, public_url: Option<&str>) -> Result<()> {
    let public = public_url.and_then(|url| Url::parse(url).ok());
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST).and_then(|host| Url::parse(&format!("http://{host}")).ok());
    let refused = |what: &str| {
        let detail = format!(
            "requests with this `{what}` are refused; use an address of the server, or set \
             `public_url` in ostler.toml to the one that clients use"
        );
        Err(ApiError::new(ProblemCode::ForeignOrigin, detail))
    };
    if !host.is_some_and(|host| is_own_host(&host, public.as_ref())) {
        return refused("Host");
    }
    let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
    let is_own = Url::parse(origin).is_ok_and(|origin| {
        is_loopback(&origin) || public.as_ref().is_some_and(|url| url.origin() == origin.origin())
    });
    if is_own { Ok(()) } else { refused("Origin") }
}

/// Returns whether a host is an address, which cannot be rebound, or a name of the server.
fn is_own_host(host: &Url, public: Option<&Url>) -> bool {
    let is_address = matches!(host.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)));
    is_address || is_loopback(host) || public.is_some_and(|url| url.host() == host.host())
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::check;

    /// K05: only the server's own names and pages are let in.
    #[test]
    fn k05_foreign_hosts_and_origins_are_refused() {
        let public = Some("https://ostler.example");
        for (host, origin, public, expected) in [
            ("127.0.0.1:7470", None, None, true),
            ("localhost:7470", Some("http://localhost:3000"), None, true),
            ("[::1]:7470", None, None, true),
            ("10.0.0.5:7470", None, None, true),
            ("evil.example", None, None, false),
            ("evil.example:7470", None, public, false),
            ("ostler.example", None, public, true),
            ("ostler.example", Some("https://ostler.example"), public, true),
            ("ostler.example", Some("http://ostler.example"), public, false),
            ("ostler.example", Some("https://evil.example"), public, false),
            ("localhost", Some("http://evil.example"), None, false),
            ("localhost", Some("null"), None, false),
            ("localhost", Some("http://localhost.evil.example"), None, false),
            ("", None, None, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            assert_eq!(check(&headers, public).is_ok(), expected, "{host} {origin:?}");
        }
    }
}
