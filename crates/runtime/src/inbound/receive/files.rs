//! Attachments: fetched within limits, kept once however often a message comes,
//! and a word about what could not be taken.

use std::time::Duration;

use ostler_channels::error::CallError;
use ostler_channels::inbound::{Fetched, InboundPart, RemoteFile, too_large};
use ostler_domain::id::{BindingId, BlobId};
use ostler_domain::message::{Attachment, Part};
use ostler_store::{NewBlob, StoreError};

use super::Place;
use crate::ids::derived;

/// The most files of one message.
const MOST: usize = 10;
/// How often a file is asked for, and how long to wait between.
const TRIES: u32 = 3;
const WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The parts of a message, and what the writer is told of the rest.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) parts: Vec<Part>,
    pub(super) notices: Vec<String>,
}

impl Kept {
    /// Something was not taken: whoever answers reads it, and the writer is told.
    fn missing(&mut self, words: String) {
        self.parts.push(Part::text(words.clone()));
        self.notices.push(words);
    }
}

/// Keeps the files of a message, which is known by `message` within a binding.
pub(super) async fn keep(
    place: &Place<'_>,
    binding: BindingId,
    message: &str,
    parts: Vec<InboundPart>,
) -> Result<Kept, StoreError> {
    let mut kept = Kept::default();
    let mut number = 0;
    for part in parts {
        match part {
            InboundPart::Text(text) => kept.parts.push(Part::text(text)),
            InboundPart::Notice(words) => kept.missing(words),
            InboundPart::File(_) if number >= MOST => {
                let words = format!("(There were more than {MOST} files; the rest was not taken.)");
                if !kept.notices.contains(&words) {
                    kept.missing(words);
                }
            }
            InboundPart::File(file) => {
                let word = format!("file {message} {number}");
                let id = derived(BlobId::from_u128, binding.as_u128(), &word);
                number += 1;
                match blob(place, id, &file).await? {
                    Ok(attachment) => kept.parts.push(Part::attached(attachment)),
                    Err(words) => kept.missing(words),
                }
            }
        }
    }
    Ok(kept)
}

/// A file as a blob, or words about why there is none.
async fn blob(
    place: &Place<'_>,
    id: BlobId,
    file: &RemoteFile,
) -> Result<Result<Attachment, String>, StoreError> {
    match place.here.attachment(id).await {
        Ok(known) => return Ok(Ok(known)),
        Err(StoreError::NotFound(_)) => {}
        Err(other) => return Err(other),
    }
    let name = file.name.as_deref();
    let Fetched { bytes, media_type, name } = match fetch(place, file).await {
        Ok(fetched) => fetched,
        Err(CallError::TooLarge) => return Ok(Err(too_large(name))),
        Err(error) => {
            tracing::warn!(%error, "a file cannot be fetched");
            let which = name.map_or_else(|| "A file".to_owned(), |name| format!("The file {name}"));
            return Ok(Err(format!("({which} could not be fetched and was not taken.)")));
        }
    };
    let new = NewBlob { id, media_type, name, bytes: bytes.to_vec() };
    match place.here.put_blob(new).await {
        Ok(attachment) => Ok(Ok(attachment)),
        // The same message came twice at once.
        Err(StoreError::Conflict(_)) => place.here.attachment(id).await.map(Ok),
        Err(other) => Err(other),
    }
}

async fn fetch(place: &Place<'_>, file: &RemoteFile) -> Result<Fetched, CallError> {
    let mut tries = 1;
    loop {
        match place.connection.fetch(file).await {
            Err(CallError::Later { after, reason }) if tries < TRIES => {
                tracing::debug!(reason, "a file is asked for again");
                tokio::time::sleep(after.unwrap_or(WAIT * tries).min(LONGEST_WAIT)).await;
                tries += 1;
            }
            other => return other,
        }
    }
}
