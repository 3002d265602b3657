//! What visitors write.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use ostler_channels::connection::MOST_BODY_BYTES;

use super::door::Door;
use crate::body;
use crate::refused::Result;
use crate::server::Server;
use crate::webhooks::Answer;

/// Takes what a visitor writes. They see it, and what is answered, among the
/// events of their conversation.
pub(crate) async fn post(
    State(server): State<Server>,
    Extension(door): Extension<Door>,
    request: Request,
) -> Result<(StatusCode, Json<Answer>)> {
    let (head, body) = request.into_parts();
    let now = server.parts.clock.now();
    // Before a large body is read for somebody who may not send any.
    door.visitor(bearer(&head.headers), now)?;
    let body = body::read(body, MOST_BODY_BYTES).await?;
    let taken = server.parts.reception.bring(door.binding, &head.headers, &body).await?;
    Ok((StatusCode::ACCEPTED, Json(taken.into())))
}

fn bearer(headers: &axum::http::HeaderMap) -> &str {
    let header = headers.get(axum::http::header::AUTHORIZATION);
    let text = header.and_then(|value| value.to_str().ok());
    text.and_then(|text| text.strip_prefix("Bearer ")).unwrap_or_default()
}
