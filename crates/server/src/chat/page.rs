//! A page of its own for a chat: for links, and to see it before it is embedded.

use axum::Extension;
use axum::extract::State;
use axum::http::header::{self, HeaderMap};
use axum::response::{IntoResponse, Response};

use super::door::Door;
use crate::refused::Result;
use crate::server::Server;

const PAGE: &str = include_str!("page.html");

/// Nothing but the chat's own script runs on it, and no other page shows it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; \
                      connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Shows the page.
pub(crate) async fn show(
    State(server): State<Server>,
    Extension(door): Extension<Door>,
    headers: HeaderMap,
) -> Result<Response> {
    let org = server.parts.store.org(door.org).org().await?;
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.map_or_else(|| "https://HOST".to_owned(), |host| format!("http://{host}"));
    let page = fill(&org.name, &host, &door.binding.to_string());
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    Ok((headers, page).into_response())
}

/// The page, with each value as text.
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
        page.push_str(&escaped(value));
        rest = &rest[at + name.len()..];
    }
    page + rest
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::fill;

    /// What people chose is text on the page, whatever it looks like.
    #[test]
    fn names_are_text_and_never_markup_or_places_to_fill() {
        let page = fill("\"><script>{host}</script>", "http://x", "bnd_1");
        assert!(page.contains("<title>&quot;&gt;&lt;script&gt;{host}&lt;/script&gt;</title>"));
        assert!(page.contains("data-binding=\"bnd_1\""), "{page}");
        assert!(!page.contains("{org}") && !page.contains("{binding}"), "{page}");
    }
}
