//! Routes for the export of everything that is stored about a person: a stream of lines, so that
//! no history is too long, and the files of messages.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use ostler_api::contact::{ExportHead, ExportedItem};
use ostler_domain::id::BlobId;
use ostler_domain::org::permission::OrgPermission::Configure;
use ostler_runtime::operations::{OperationError, Person};
use serde::Serialize;
use tokio::sync::mpsc;

use super::people::kind_name;
use super::{OrgRequest, PathId};
use crate::body::parse_id;
use crate::error::Result;
use crate::route::{Route, get};

/// Pages that wait for the reader.
const BUFFER: usize = 2;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            Configure,
            "/people/{person}/export",
            "exportPerson",
            "Export everything that is stored about a contact or a visitor, one JSON document a \
             line",
            export,
        )
        .returns_content("application/x-ndjson"),
        get(Configure, "/files/{file}", "getFile", "Get a file of a message", file)
            .returns_content("application/octet-stream"),
    ]
}

/// What the stream of an export sends. An error ends it before its end, so that the reader
/// notices.
type Chunk = std::result::Result<Bytes, std::io::Error>;

async fn export(request: OrgRequest, PathId(name): PathId) -> Result<Response> {
    let operations = request.operations();
    let person = request.hide_foreign_org(operations.find_person_by_beginning(&name).await)?;
    let (sender, mut receiver) = mpsc::channel(BUFFER);
    tokio::spawn(async move {
        if let Err(error) = send(&request, &person, &sender).await {
            tracing::warn!(%error, "export of a person not finished");
            let _ = sender.send(Err(std::io::Error::other("the export was interrupted"))).await;
        }
    });
    let chunks = stream::poll_fn(move |context| receiver.poll_recv(context));
    let media_type = HeaderValue::from_static("application/x-ndjson");
    Ok(([(header::CONTENT_TYPE, media_type)], Body::from_stream(chunks)).into_response())
}

/// Sends an export page by page. Ends early if nobody reads it.
async fn send(
    request: &OrgRequest,
    person: &Person,
    sender: &mpsc::Sender<Chunk>,
) -> std::result::Result<(), OperationError> {
    let mut export = request.operations().export_person(person).await?;
    let head = ExportHead { org: request.org(), contact: person.reference() };
    let mut lines = line(&head);
    loop {
        if sender.send(Ok(Bytes::from(std::mem::take(&mut lines)))).await.is_err() {
            return Ok(());
        }
        let Some(page) = export.next_page().await? else { return Ok(()) };
        for item in page {
            lines.extend(line(&ExportedItem { kind: kind_name(item.kind), value: item.value }));
        }
    }
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec(value).unwrap_or_default();
    text.push(b'\n');
    text
}

async fn file(request: OrgRequest, PathId(id): PathId) -> Result<Response> {
    let id: BlobId = parse_id(&id, "file")?;
    let file = request.hide_foreign_org(request.operations().file(id).await)?;
    // Nothing is shown or run within a browser.
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox")),
    ];
    Ok((headers, file.bytes).into_response())
}
