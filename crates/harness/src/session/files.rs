//! The bytes of images. They are stored once, beside the messages, and loaded when a process
//! opens the thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ostler_domain::id::{BlobId, ThreadId};
use ostler_engine::history::{Content, Media};
use ostler_engine::turn::Turn;
use ostler_store::{OrgStore, StoreError, ThreadFile, ThreadLease};

use super::{Core, lost};
use crate::clock;
use crate::error::HarnessError;

impl Core {
    /// Stores the bytes of attachments that are not stored yet, so that the message can refer
    /// to them.
    pub(crate) async fn store_attachments(
        &self,
        lease: ThreadLease,
        content: &mut [Content],
    ) -> Result<(), HarnessError> {
        let mut files = Vec::new();
        for media in content.iter_mut().filter_map(Content::media_mut) {
            if let (None, Some(data)) = (media.blob, &media.data)
                && let Ok(bytes) = BASE64_STANDARD.decode(data.as_bytes())
            {
                let id = clock::fresh_id(BlobId::from_u128);
                media.blob = Some(id);
                media.size = bytes.len() as u64;
                files.push(ThreadFile { id, media: super::json(media), bytes });
            }
        }
        if files.is_empty() {
            return Ok(());
        }
        self.org().add_thread_files(lease, files).await.map_err(lost)
    }
}

/// Returns an image of a thread, with its bytes.
pub(crate) async fn load_file(
    store: OrgStore<'_>,
    thread: ThreadId,
    id: BlobId,
) -> Result<Option<Media>, StoreError> {
    let Some(file) = store.thread_file(thread, id).await? else { return Ok(None) };
    let media: Media = serde_json::from_str(&file.media).map_err(|error| {
        StoreError::CorruptValue { what: "file of a thread", why: error.to_string() }
    })?;
    let data = Some(BASE64_STANDARD.encode(&file.bytes).into());
    Ok(Some(Media { blob: Some(id), data, ..media }))
}

/// The bytes of a thread's images, as providers take them.
#[derive(Default)]
pub(super) struct LoadedFiles(BTreeMap<BlobId, Arc<str>>);

impl LoadedFiles {
    /// Loads the attachments among parts of messages. One that is gone stays without its
    /// bytes, and models are told that they cannot see it.
    pub(super) async fn load<'i>(
        &mut self,
        store: OrgStore<'_>,
        thread: ThreadId,
        content: impl Iterator<Item = &'i mut Content>,
    ) -> Result<(), StoreError> {
        for media in content.filter_map(Content::media_mut) {
            let (None, Some(id)) = (&media.data, media.blob) else { continue };
            if !self.0.contains_key(&id)
                && let Some(Media { data: Some(data), .. }) = load_file(store, thread, id).await?
            {
                self.0.insert(id, data);
            }
            self.fill(media);
        }
        Ok(())
    }

    /// Gives a stored turn the attachments that its messages and those of its subagents have.
    pub(super) fn fill_turn(&self, turn: &mut Turn) {
        turn.for_each_attachment(|content| {
            if let Some(media) = content.media_mut() {
                self.fill(media);
            }
        });
    }

    fn fill(&self, media: &mut Media) {
        if media.data.is_none() {
            media.data = media.blob.and_then(|id| self.0.get(&id).cloned());
        }
    }
}
