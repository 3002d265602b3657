//! The web chat: pages that embed it, and those who visit them. The forms are
//! the channel's ([`ostler_channels::webchat`]).

pub(crate) mod door;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod messages;
pub(crate) mod page;
pub(crate) mod visitors;

use axum::http::header;
use axum::response::IntoResponse;
use ostler_channels::webchat::WIDGET;

/// The script that a page embeds.
pub(crate) async fn widget() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=300"),
    ];
    (headers, WIDGET)
}
