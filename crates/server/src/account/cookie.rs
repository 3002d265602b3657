//! The cookie of a logged-in browser.
//!
//! It is sent over TLS only, apart from a server that a browser on the same machine opens
//! without TLS. Then its name has no `__Host-`, which browsers accept over TLS only.

use axum::http::{HeaderMap, HeaderValue, header};
use ostler_api::problem::ProblemCode;
use ostler_domain::login::MAX_LIFETIME;
use ostler_domain::login::secret::LoginToken;

use crate::error::{ApiError, Result};
use crate::server::Server;

/// The name of the cookie without the prefix.
const NAME: &str = "ostler_login";
/// Browsers accept a cookie with this prefix over TLS only, and for no other host.
const PREFIX: &str = "__Host-";

/// Whether a browser may send the cookie without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CookieTransport {
    Tls,
    LocalMachine,
}

impl CookieTransport {
    /// Returns how a browser reaches the server.
    pub(crate) fn of(server: &Server, headers: &HeaderMap) -> Self {
        let public = server.deps.public_url.as_deref();
        let is_https = public.is_some_and(|url| url.starts_with("https://"));
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        if !is_https && host.is_some_and(is_local_host) { Self::LocalMachine } else { Self::Tls }
    }

    /// Returns the name of a cookie as the browser stores it.
    pub(crate) fn prefixed(self, name: &str) -> String {
        match self {
            Self::Tls => format!("{PREFIX}{name}"),
            Self::LocalMachine => name.to_owned(),
        }
    }

    const fn attribute(self) -> &'static str {
        match self {
            Self::Tls => "; Secure",
            Self::LocalMachine => "",
        }
    }

    /// Returns the token in the cookie of a request.
    pub(crate) fn read(self, headers: &HeaderMap) -> Option<LoginToken> {
        find(headers, &self.prefixed(NAME))?.parse().ok()
    }

    /// Returns the `Set-Cookie` header of a new log-in.
    pub(crate) fn set(self, token: &LoginToken) -> Result<HeaderValue> {
        self.header(NAME, token.expose(), MAX_LIFETIME.as_secs())
    }

    /// Returns the `Set-Cookie` header that removes the cookie.
    pub(crate) fn clear(self) -> Result<HeaderValue> {
        self.header(NAME, "", 0)
    }

    /// Returns the `Set-Cookie` header of a cookie; `max_age` is in seconds.
    pub(crate) fn header(self, name: &str, value: &str, max_age: u64) -> Result<HeaderValue> {
        let (name, secure) = (self.prefixed(name), self.attribute());
        let text =
            format!("{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text)
            .map_err(|_| ApiError::new(ProblemCode::Internal, "the cookie cannot be written"))
    }
}

/// Returns the value of a cookie.
pub(crate) fn find<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';'));
    cookies.find_map(|cookie| {
        let (key, value) = cookie.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}

/// Returns whether a `Host` header names the machine itself.
pub(crate) fn is_local_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};

    use super::{CookieTransport, is_local_host};

    #[test]
    fn s13_only_this_machine_goes_without_tls() {
        for (host, expected) in [
            ("localhost", true),
            ("LOCALHOST:7470", true),
            ("127.0.0.1:7470", true),
            ("[::1]:7470", true),
            ("ostler.example", false),
            ("localhost.example", false),
            ("192.168.0.5:7470", false),
            ("", false),
        ] {
            assert_eq!(is_local_host(host), expected, "{host}");
        }
    }

    #[test]
    fn s13_a_cookie_is_for_the_browser_only_and_read_back() {
        let token = format!("osl_{}", "a1".repeat(32));
        let parsed = token.parse().unwrap();
        for (transport, name, end) in [
            (CookieTransport::Tls, "__Host-ostler_login", "; HttpOnly; SameSite=Lax; Secure"),
            (CookieTransport::LocalMachine, "ostler_login", "; HttpOnly; SameSite=Lax"),
        ] {
            let set = transport.set(&parsed).ok().unwrap();
            let set = set.to_str().unwrap();
            assert!(set.starts_with(&format!("{name}={token}; Path=/; Max-Age=")), "{set}");
            assert!(set.ends_with(end) && !set.contains("Domain"), "{set}");
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, format!("a=b; {name}={token}").parse().unwrap());
            assert_eq!(transport.read(&headers).unwrap().expose(), token);
            let cleared = transport.clear().ok().unwrap();
            assert!(cleared.to_str().unwrap().starts_with(&format!("{name}=; Path=/; Max-Age=0")));
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, format!("ostler_login={token}").parse().unwrap());
        assert!(CookieTransport::Tls.read(&headers).is_none(), "a cookie without TLS is ignored");
    }
}
