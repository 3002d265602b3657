//! Refuses what the page of another site does with a browser that is logged in here.
//!
//! Browsers say where a request comes from. A change by cookie also needs a header that no
//! page of another site can send, because the server allows it to none.

use axum::http::{HeaderMap, HeaderName, header};
use ostler_api::account::CSRF_HEADER;
use ostler_api::problem::ProblemCode;

use crate::error::{ApiError, Result};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Checks a request that changes something with the cookie of a browser.
pub(crate) fn check_change(headers: &HeaderMap, public_url: Option<&str>) -> Result<()> {
    check_origin(headers, public_url)?;
    if headers.contains_key(CSRF_HEADER) {
        return Ok(());
    }
    let detail = format!("a change with a cookie needs the header `{CSRF_HEADER}: 1`");
    Err(ApiError::new(ProblemCode::ForeignOrigin, detail))
}

/// Checks that no page of another site makes a request. Programs say nothing about it.
pub(crate) fn check_origin(headers: &HeaderMap, public_url: Option<&str>) -> Result<()> {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("-"));
    let is_own = match (text(&SEC_FETCH_SITE), text(&header::ORIGIN)) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => {
            let host = text(&header::HOST).unwrap_or_default();
            let public = public_url.map(|url| url.trim_end_matches('/'));
            let host_of = origin.split_once("://").map(|(_, host)| host);
            public == Some(origin) || (!host.is_empty() && host_of == Some(host))
        }
        (None, None) => true,
    };
    if is_own {
        return Ok(());
    }
    let detail = "a page of another site may not do this; open the server's own address";
    Err(ApiError::new(ProblemCode::ForeignOrigin, detail))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::{check_change, check_origin};

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn s13_pages_of_other_sites_are_refused() {
        let public = Some("https://ostler.example/");
        for (sent, expected) in [
            (vec![], true),
            (vec![("sec-fetch-site", "same-origin")], true),
            (vec![("sec-fetch-site", "none")], true),
            (vec![("sec-fetch-site", "same-site")], false),
            (vec![("sec-fetch-site", "cross-site")], false),
            (vec![("sec-fetch-site", "cross-site"), ("origin", "https://ostler.example")], false),
            (vec![("origin", "https://ostler.example")], true),
            (vec![("origin", "http://ostler.example")], false),
            (vec![("origin", "https://evil.example"), ("host", "ostler.example")], false),
            (vec![("origin", "http://127.0.0.1:7470"), ("host", "127.0.0.1:7470")], true),
            (vec![("origin", "http://127.0.0.1:8000"), ("host", "127.0.0.1:7470")], false),
            (vec![("origin", "null"), ("host", "127.0.0.1:7470")], false),
        ] {
            let sent = headers(&sent);
            assert_eq!(check_origin(&sent, public).is_ok(), expected, "{sent:?}");
        }
    }

    #[test]
    fn s13_a_change_by_cookie_needs_the_header() {
        assert!(check_change(&headers(&[]), None).is_err());
        assert!(check_change(&headers(&[("ostler-csrf", "1")]), None).is_ok());
        let foreign = headers(&[("ostler-csrf", "1"), ("sec-fetch-site", "cross-site")]);
        assert!(check_change(&foreign, None).is_err());
    }
}
