//! Messages of visitors.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use ostler_channels::connection::MAX_BODY_BYTES;

use super::cors::OpenChat;
use crate::error::Result;
use crate::rate_limits::RateKey;
use crate::server::Server;
use crate::webhooks::WebhookResponse;

/// Accepts a message of a visitor. The message and the replies appear in the event
/// stream of the conversation.
pub(crate) async fn post(
    State(server): State<Server>,
    Extension(chat): Extension<OpenChat>,
    request: Request,
) -> Result<(StatusCode, Json<WebhookResponse>)> {
    let (head, body) = request.into_parts();
    let now = server.deps.clock.now();
    // Checked before a large body is read.
    let visitor = chat.visitor(bearer(&head.headers), now)?;
    let rates = &server.rates;
    rates.take(RateKey::Visitor(chat.binding, visitor.identifier), now)?;
    rates.take(RateKey::Binding(chat.binding), now)?;
    rates.take(RateKey::Org(chat.org), now)?;
    let body = server.bodies.read(body, MAX_BODY_BYTES).await?;
    let receiver = &server.deps.receiver;
    let receipt = receiver.receive_webhook(chat.binding, &head.headers, body.bytes).await?;
    Ok((StatusCode::ACCEPTED, Json(receipt.into())))
}

/// Returns the token of a request.
pub(super) fn bearer(headers: &axum::http::HeaderMap) -> &str {
    let header = headers.get(axum::http::header::AUTHORIZATION);
    let text = header.and_then(|value| value.to_str().ok());
    text.and_then(|text| text.strip_prefix("Bearer ")).unwrap_or_default()
}
