//! Tickets for streams. An `EventSource` cannot send a header, and a token must not be in a
//! URL, where proxies and browsers keep it.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use ostler_channels::webchat::StreamTicketResponse;

use super::cors::OpenChat;
use super::messages::bearer;
use crate::error::Result;
use crate::server::Server;

/// Makes a ticket for the stream of the visitor with this token.
pub(crate) async fn create(
    State(server): State<Server>,
    Extension(chat): Extension<OpenChat>,
    headers: HeaderMap,
) -> Result<Json<StreamTicketResponse>> {
    let now = server.deps.clock.now();
    let visitor = chat.visitor(bearer(&headers), now)?;
    Ok(Json(StreamTicketResponse { ticket: chat.chat().stream_ticket(&visitor, now) }))
}
