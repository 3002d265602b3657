//! Files of a visitor's own conversation.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use ostler_domain::id::BlobId;
use ostler_domain::message::MediaType;
use serde::Deserialize;

use super::door::Door;
use crate::body::{self, Asked};
use crate::refused::{Refused, Result};
use crate::server::Server;

/// Who asks. A picture on a page can send no header.
#[derive(Deserialize)]
pub(crate) struct Shown {
    token: String,
}

/// Kinds that a browser shows without running anything.
const HARMLESS: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(crate) async fn read(
    State(server): State<Server>,
    Extension(door): Extension<Door>,
    Path((_, blob)): Path<(String, String)>,
    Asked(shown): Asked<Shown>,
) -> Result<Response> {
    let key = door.visitor(&shown.token, server.parts.clock.now())?;
    let blob: BlobId = body::id(&blob, "file")?;
    let store = server.parts.store.org(door.org);
    if !store.is_blob_of(&key, blob).await? {
        return Err(Refused::not_found("file"));
    }
    let blob = store.blob(blob).await?;
    let media_type = &blob.attachment.media_type;
    let headers = [
        (header::CONTENT_TYPE, written(media_type)),
        (header::CONTENT_DISPOSITION, disposition(media_type)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((headers, blob.bytes).into_response())
}

fn written(media_type: &MediaType) -> HeaderValue {
    let octets = HeaderValue::from_static("application/octet-stream");
    HeaderValue::from_str(media_type.as_str()).unwrap_or(octets)
}

fn disposition(media_type: &MediaType) -> HeaderValue {
    let shown = HARMLESS.contains(&media_type.as_str());
    HeaderValue::from_static(if shown { "inline" } else { "attachment" })
}
