//! A stand-alone page for a chat, for links and previews.

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use ostler_channels::webchat::Appearance;

use super::cors::OpenChat;
use crate::error::Result;
use crate::server::Server;

const PAGE: &str = include_str!("page.html");

/// Only the widget's script runs on the page, and only the dashboard may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; \
                      connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'self'";

/// `GET /chat/{binding}/`.
pub(crate) async fn show(
    State(server): State<Server>,
    Extension(chat): Extension<OpenChat>,
) -> Result<Response> {
    let org = server.deps.store.org(chat.org).org().await?;
    let page = fill(&org.name, &chat.binding.to_string(), chat.chat().appearance());
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    Ok((headers, page).into_response())
}

/// Fills the template with escaped values.
fn fill(org: &str, binding: &str, Appearance { greeting, color }: &Appearance) -> String {
    let values =
        [("{org}", org), ("{binding}", binding), ("{greeting}", greeting), ("{color}", color)];
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
    use ostler_channels::webchat::Appearance;

    use super::fill;

    #[test]
    fn values_are_escaped_and_not_filled_again() {
        let page = fill("\"><script>{binding}</script>", "bnd_1", &Appearance::default());
        assert!(page.contains("<title>&quot;&gt;&lt;script&gt;{binding}&lt;/script&gt;</title>"));
        assert!(page.contains("data-binding=\"bnd_1\""), "{page}");
        assert!(!page.contains("{org}") && !page.contains("data-binding=\"{binding}\""), "{page}");
    }
}
