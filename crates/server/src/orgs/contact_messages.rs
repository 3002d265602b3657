//! Routes for messages that people of the org write in the place of a contact. The sender of
//! such a message is never proven, and its name says that staff wrote it.

use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_api::contact_message::{
    AcceptedContactMessage, ContactFile, ContactReply, NewContactMessage,
};
use ostler_api::problem::ProblemCode;
use ostler_domain::id::BindingId;
use ostler_domain::message::{Attachment, MAX_BLOB_BYTES, MediaType, MessagePart};
use ostler_domain::org::permission::OrgPermission::Operate;
use ostler_runtime::operations::{self, ContactMessage, new_blob_id};
use ostler_store::NewBlob;
use serde_json::json;

use super::{OrgRequest, PathIds};
use crate::body;
use crate::error::{ApiError, Result};
use crate::resources;
use crate::route::describe::schema_of;
use crate::route::{Route, get, post};

/// The most files of a message.
const MAX_FILES: usize = 10;
/// The longest text, in bytes.
const MAX_TEXT: usize = 256 * 1024;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        post(
            Operate,
            "/contact-messages",
            "writeAsContact",
            "Write in the place of a contact, who is not proven thereby, and open a conversation",
            write,
        )
        .takes(schema_of::<NewContactMessage>)
        .statuses(&[202])
        .example(json!({"channel": "webchat", "contact": "rosa", "text": "Are you open?"})),
        get(
            Operate,
            "/contact-messages/{channel}/{message}",
            "getContactReply",
            "Show the run that answered a message written in the place of a contact",
            reply,
        ),
    ]
}

async fn write(
    request: OrgRequest,
    sent: Request,
) -> Result<(StatusCode, Json<AcceptedContactMessage>)> {
    let (server, caller) = (&request.server, &request.caller);
    let (body, _place): (NewContactMessage, _) = resources::read(server, caller, sent).await?;
    let NewContactMessage { channel, contact, as_owner, text, files } = body;
    let text = text.filter(|text| !text.trim().is_empty());
    if text.as_ref().is_some_and(|text| text.len() > MAX_TEXT) {
        return Err(invalid(format!("`text` has at most {MAX_TEXT} bytes")));
    }
    if files.len() > MAX_FILES {
        return Err(invalid(format!("a message has at most {MAX_FILES} files")));
    }
    let files = files.into_iter().map(blob).collect::<Result<Vec<NewBlob>>>()?;
    let mut parts: Vec<MessagePart> = text.iter().map(MessagePart::text).collect();
    parts.extend(files.iter().map(|file| {
        MessagePart::from_attachment(Attachment {
            blob: file.id,
            media_type: file.media_type.clone(),
            name: file.name.clone(),
            size: file.bytes.len() as u64,
        })
    }));
    let new = ContactMessage { channel, contact, is_owner: as_owner, parts, files };
    let intake = server.deps.receiver.intake();
    let accepted = request.operations().write_as_contact(intake, new).await;
    let accepted = request.hide_foreign_org(accepted)?;
    let operations::AcceptedContactMessage { binding, id, conversation } = accepted;
    let accepted = AcceptedContactMessage { id, channel: binding, conversation };
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

async fn reply(
    request: OrgRequest,
    PathIds(channel, message): PathIds,
) -> Result<Json<ContactReply>> {
    let binding: BindingId = body::parse_id(&channel, "channel")?;
    let found = request.operations().contact_reply(binding, &message).await;
    let (run, session) = request.hide_foreign_org(found)?.unzip();
    Ok(Json(ContactReply { run, session }))
}

fn blob(ContactFile { name, media_type, data }: ContactFile) -> Result<NewBlob> {
    let bytes = STANDARD.decode(data.as_bytes());
    let bytes = bytes.map_err(|_| invalid(format!("the file `{name}` is not valid base64")))?;
    if bytes.is_empty() || bytes.len() > MAX_BLOB_BYTES {
        return Err(invalid(format!("the file `{name}` must have 1 to {MAX_BLOB_BYTES} bytes")));
    }
    let media_type: MediaType = media_type
        .parse()
        .map_err(|error| invalid(format!("the media type of `{name}` is wrong: {error}")))?;
    let name = Some(name).filter(|name| !name.is_empty());
    Ok(NewBlob { id: new_blob_id(), media_type, name, bytes })
}

fn invalid(detail: String) -> ApiError {
    ApiError::new(ProblemCode::Invalid, detail)
}
