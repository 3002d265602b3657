//! Attachments: fetched within limits, and stored with the message in one transaction. The
//! sender is told about files that were not accepted.

use std::time::Duration;

use ostler_channels::error::CallError;
use ostler_channels::inbound::{FetchedFile, InboundPart, RemoteFile, file_too_large_notice};
use ostler_domain::id::{BindingId, BlobId};
use ostler_domain::message::{Attachment, MessagePart};
use ostler_store::{NewBlob, StoreError};

use super::BindingContext;
use crate::ids::derived;

/// The maximum number of files of one message.
const MAX_FILES: usize = 10;
/// How often a file is fetched, and the wait between attempts.
const MAX_ATTEMPTS: u32 = 3;
const RETRY_WAIT: Duration = Duration::from_millis(500);
const MAX_RETRY_WAIT: Duration = Duration::from_secs(5);

/// The notice in place of files for which the org has no room.
const NO_ROOM: &str = "(Files cannot be accepted at the moment; please send only text.)";

/// The parts of a message, and notices about files that were not accepted.
#[derive(Debug, Clone, Default)]
pub(super) struct FetchedParts {
    pub(super) parts: Vec<MessagePart>,
    pub(super) notices: Vec<String>,
    /// The files among the parts that are not stored yet.
    pub(super) files: Vec<NewBlob>,
}

impl FetchedParts {
    /// Returns the parts without the files that are not stored yet, and with a notice.
    pub(super) fn without_files(mut self) -> Self {
        let is_new = |part: &MessagePart| {
            let blob = part.attachment().map(|attachment| attachment.blob);
            blob.is_some_and(|blob| self.files.iter().any(|file| file.id == blob))
        };
        self.parts.retain(|part| !is_new(part));
        self.files.clear();
        self.add_notice(NO_ROOM.to_owned());
        self
    }

    /// Adds a notice, which both the agent and the sender read.
    fn add_notice(&mut self, notice: String) {
        self.parts.push(MessagePart::text(notice.clone()));
        self.notices.push(notice);
    }
}

/// Fetches the files of a message. `message` identifies it within its binding.
pub(super) async fn fetch_parts(
    context: &BindingContext<'_>,
    binding: BindingId,
    message: &str,
    parts: Vec<InboundPart>,
) -> Result<FetchedParts, StoreError> {
    let mut fetched = FetchedParts::default();
    let mut number = 0;
    for part in parts {
        match part {
            InboundPart::Text(text) => fetched.parts.push(MessagePart::text(text)),
            InboundPart::Notice(notice) => fetched.add_notice(notice),
            InboundPart::File(_) if number >= MAX_FILES => {
                let notice =
                    format!("(There were more than {MAX_FILES} files; the rest was not taken.)");
                if !fetched.notices.contains(&notice) {
                    fetched.add_notice(notice);
                }
            }
            InboundPart::File(file) => {
                let key = format!("file {message} {number}");
                let id = derived(BlobId::from_u128, binding.as_u128(), &key);
                number += 1;
                match fetch_file(context, id, &file).await? {
                    Ok((attachment, new)) => {
                        fetched.parts.push(MessagePart::from_attachment(attachment));
                        fetched.files.extend(new);
                    }
                    Err(notice) => fetched.add_notice(notice),
                }
            }
        }
    }
    Ok(fetched)
}

/// Fetches and stores the files of a message that is in no inbox.
pub(super) async fn store_parts(
    context: &BindingContext<'_>,
    binding: BindingId,
    message: &str,
    parts: Vec<InboundPart>,
) -> Result<FetchedParts, StoreError> {
    let mut fetched = fetch_parts(context, binding, message, parts).await?;
    for file in std::mem::take(&mut fetched.files) {
        match context.store.put_blob(file).await {
            // The same message was delivered twice at the same time.
            Ok(_) | Err(StoreError::Conflict(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(fetched)
}

/// Fetches a file, unless it is stored already. Returns a notice if it cannot be fetched.
async fn fetch_file(
    context: &BindingContext<'_>,
    id: BlobId,
    file: &RemoteFile,
) -> Result<Result<(Attachment, Option<NewBlob>), String>, StoreError> {
    match context.store.attachment(id).await {
        Ok(known) => return Ok(Ok((known, None))),
        Err(StoreError::NotFound(_)) => {}
        Err(other) => return Err(other),
    }
    let name = file.name.as_deref();
    let FetchedFile { bytes, media_type, name } = match fetch(context, file).await {
        Ok(fetched) => fetched,
        Err(CallError::TooLarge) => return Ok(Err(file_too_large_notice(name))),
        Err(error) => {
            tracing::warn!(%error, "attachment not fetched");
            let which = name.map_or_else(|| "A file".to_owned(), |name| format!("The file {name}"));
            return Ok(Err(format!("({which} could not be fetched and was not taken.)")));
        }
    };
    let size = bytes.len() as u64;
    let attachment =
        Attachment { blob: id, media_type: media_type.clone(), name: name.clone(), size };
    let new = NewBlob { id, media_type, name, bytes: bytes.to_vec() };
    Ok(Ok((attachment, Some(new))))
}

async fn fetch(context: &BindingContext<'_>, file: &RemoteFile) -> Result<FetchedFile, CallError> {
    let mut attempt = 1;
    loop {
        match context.connection.fetch_file(file).await {
            Err(CallError::Retryable { retry_after, reason }) if attempt < MAX_ATTEMPTS => {
                tracing::debug!(reason, "attachment is fetched again");
                tokio::time::sleep(retry_after.unwrap_or(RETRY_WAIT * attempt).min(MAX_RETRY_WAIT))
                    .await;
                attempt += 1;
            }
            other => return other,
        }
    }
}
