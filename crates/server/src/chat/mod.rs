//! The web chat of visitors. Its JSON is defined by the channel
//! ([`ostler_channels::webchat`]).

pub(crate) mod cors;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod messages;
pub(crate) mod page;
pub(crate) mod tickets;
pub(crate) mod visitors;

use axum::http::header;
use axum::response::IntoResponse;
use ostler_channels::webchat::WIDGET;

/// `GET /widget.js`: the script that a page embeds.
pub(crate) async fn widget() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=300"),
    ];
    (headers, WIDGET)
}
