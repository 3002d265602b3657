//! A stand-alone page for a chat, for links and previews.

use axum::Extension;
use axum::extract::State;
use axum::http::header::{self, HeaderMap};
use axum::response::{IntoResponse, Response};

use super::cors::OpenChat;
use crate::error::Result;
use crate::server::Server;

const PAGE: &str = include_str!("page.html");

/// Only the widget's script runs on the page, and no other page may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; \
                      connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// `GET /chat/{binding}/`.
pub(crate) async fn show(
    State(server): State<Server>,
    Extension(chat): Extension<OpenChat>,
    headers: HeaderMap,
) -> Result<Response> {
    let org = server.deps.store.org(chat.org).org().await?;
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.map_or_else(|| "https://HOST".to_owned(), |host| format!("http://{host}"));
    let page = fill(&org.name, &host, &chat.binding.to_string());
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    Ok((headers, page).into_response())
}

/// Fills the template with escaped values.
fn fill(org: &str, host: &str, binding: &str) -> String {
    let values = [("{org}", org), ("{host}", host), ("{binding}", binding)];
    let mut page = String::with_capacity(PAGE.len() + 200);
    let mut rest = PAGE;
    while let Some((at, name, value)) = values
        .iter()
        .filter_map(|(name, value)| Some((rest.find(name)?, name, value)))
        .min_by_key(|(at, ..)| *at)
    {
        page.push_str(&rest[..at]);
        page.push_str(&escape_html(value));
        rest = &rest[at + name.len()..];
    }
    page + rest
}

fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn values_are_escaped_and_not_filled_again() {
        let page = fill("\"><script>{host}</script>", "http://x", "bnd_1");
        assert!(page.contains("<title>&quot;&gt;&lt;script&gt;{host}&lt;/script&gt;</title>"));
        assert!(page.contains("data-binding=\"bnd_1\""), "{page}");
        assert!(!page.contains("{org}") && !page.contains("{binding}"), "{page}");
    }
}
