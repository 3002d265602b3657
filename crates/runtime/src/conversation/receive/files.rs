//! Attachments: fetched within limits and stored once. The sender is told about files that
//! were not accepted.

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

/// The parts of a message, and notices about files that were not accepted.
#[derive(Debug, Default)]
pub(super) struct StoredParts {
    pub(super) parts: Vec<MessagePart>,
    pub(super) notices: Vec<String>,
}

impl StoredParts {
    /// Adds a notice, which both the agent and the sender read.
    fn add_notice(&mut self, notice: String) {
        self.parts.push(MessagePart::text(notice.clone()));
        self.notices.push(notice);
    }
}

/// Stores the files of a message. `message` identifies it within its binding.
pub(super) async fn store(
    context: &BindingContext<'_>,
    binding: BindingId,
    message: &str,
    parts: Vec<InboundPart>,
) -> Result<StoredParts, StoreError> {
    let mut stored = StoredParts::default();
    let mut number = 0;
    for part in parts {
        match part {
            InboundPart::Text(text) => stored.parts.push(MessagePart::text(text)),
            InboundPart::Notice(notice) => stored.add_notice(notice),
            InboundPart::File(_) if number >= MAX_FILES => {
                let notice =
                    format!("(There were more than {MAX_FILES} files; the rest was not taken.)");
                if !stored.notices.contains(&notice) {
                    stored.add_notice(notice);
                }
            }
            InboundPart::File(file) => {
                let key = format!("file {message} {number}");
                let id = derived(BlobId::from_u128, binding.as_u128(), &key);
                number += 1;
                match store_file(context, id, &file).await? {
                    Ok(attachment) => stored.parts.push(MessagePart::from_attachment(attachment)),
                    Err(notice) => stored.add_notice(notice),
                }
            }
        }
    }
    Ok(stored)
}

/// Fetches and stores a file, unless it is stored already. Returns a notice if it cannot be
/// fetched.
async fn store_file(
    context: &BindingContext<'_>,
    id: BlobId,
    file: &RemoteFile,
) -> Result<Result<Attachment, String>, StoreError> {
    match context.store.attachment(id).await {
        Ok(known) => return Ok(Ok(known)),
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
    let new = NewBlob { id, media_type, name, bytes: bytes.to_vec() };
    match context.store.put_blob(new).await {
        Ok(attachment) => Ok(Ok(attachment)),
        // The same message was delivered twice at the same time.
        Err(StoreError::Conflict(_)) => context.store.attachment(id).await.map(Ok),
        Err(other) => Err(other),
    }
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
