//! Files of a visitor's own conversation.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use ostler_domain::id::BlobId;
use ostler_domain::message::MediaType;
use schemars::JsonSchema;
use serde::Deserialize;

use super::cors::{OpenChat, unauthorized};
use crate::body::{self, QueryParams};
use crate::error::{ApiError, Result};
use crate::orgs::PathId;
use crate::server::Server;

/// A ticket for the file. An image on a page cannot send a header.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct TicketQuery {
    ticket: String,
}

/// Media types that a browser shows without running anything.
const INLINE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(crate) async fn read(
    State(server): State<Server>,
    Extension(chat): Extension<OpenChat>,
    PathId(blob): PathId,
    QueryParams(query): QueryParams<TicketQuery>,
) -> Result<Response> {
    let blob: BlobId = body::parse_id(&blob, "file")?;
    let now = server.deps.clock.now();
    let visitor = chat.chat().verify_file_ticket(&query.ticket, blob, now);
    let visitor = visitor.map_err(|error| unauthorized(&error))?;
    let key = chat.conversation_key(&server, &visitor).await?;
    let store = server.deps.store.org(key.org);
    if !store.conversation_uses_blob(&key, blob).await? {
        return Err(ApiError::not_found("file"));
    }
    let blob = store.blob(blob).await?;
    let media_type = &blob.attachment.media_type;
    let headers = [
        (header::CONTENT_TYPE, content_type(media_type)),
        (header::CONTENT_DISPOSITION, disposition(media_type)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((headers, blob.bytes).into_response())
}

fn content_type(media_type: &MediaType) -> HeaderValue {
    let octets = HeaderValue::from_static("application/octet-stream");
    HeaderValue::from_str(media_type.as_str()).unwrap_or(octets)
}

fn disposition(media_type: &MediaType) -> HeaderValue {
    let inline = INLINE_TYPES.contains(&media_type.as_str());
    HeaderValue::from_static(if inline { "inline" } else { "attachment" })
}
