//! The web chat of visitors. Its JSON is defined by the channel
//! ([`ostler_channels::webchat`]).

pub(crate) mod cors;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod messages;
pub(crate) mod page;
pub(crate) mod tickets;
pub(crate) mod visitors;

use crate::route::Access::{Public, Visitor};
use crate::route::describe::schema_of;
use crate::route::{Route, get, post};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use ostler_channels::webchat::VisitorMessage;
use ostler_channels::webchat::WIDGET;
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(Public, "/widget.js", "getWidget", "Get the script that a page embeds", widget)
            .returns_content("text/javascript"),
        get(Visitor, "", "getChatPage", "Get a page with the chat", page::show)
            .returns_content("text/html"),
        post(Visitor, "/visitors", "createVisitor", "Get a visitor's token", visitors::create)
            .example(json!({})),
        post(
            Visitor,
            "/tickets",
            "createStreamTicket",
            "Get a ticket for the event stream",
            tickets::create,
        ),
        post(Visitor, "/messages", "postVisitorMessage", "Send a message", messages::post)
            .takes(schema_of::<VisitorMessage>)
            .statuses(&[202])
            .example(json!({"id": "1", "text": "Hello!"})),
        get(Visitor, "/events", "followChat", "Follow the conversation", events::follow)
            .returns_content("text/event-stream"),
        get(Visitor, "/files/{blob}", "getChatFile", "Get a file", files::read)
            .returns_content("application/octet-stream"),
    ]
}

/// `GET /widget.js`: the script that a page embeds.
pub(crate) async fn widget() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=300"),
    ];
    (headers, WIDGET).into_response()
}
