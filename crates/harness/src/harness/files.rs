//! Images of a thread.

use ostler_domain::id::{BlobId, ThreadId};
use ostler_engine::history::{Content, Media};
use ostler_store::{OrgStore, StoreError};
use ostler_workspace::context::images::{MAX_IMAGE_BYTES, media_type, part};

use super::Harness;
use crate::error::HarnessError;

/// How many images a thread has at most.
const MAX_IMAGES: u64 = 500;
/// The name of an image that was added without one.
const UNNAMED: &str = "image";

impl<S> Harness<S> {
    /// Stores an image with the current thread, for a message to follow. Its type is found in
    /// its bytes. Without a thread, one is created.
    pub async fn add_image(
        &self,
        name: Option<&str>,
        bytes: Vec<u8>,
    ) -> Result<Media, HarnessError> {
        let kind = media_type(&bytes).ok_or(HarnessError::NotAnImage)?;
        if bytes.len() as u64 > MAX_IMAGE_BYTES {
            return Err(HarnessError::ImageTooLarge(MAX_IMAGE_BYTES));
        }
        let image = part(name.unwrap_or(UNNAMED), kind, &bytes);
        self.run_detached(|harness| async move {
            let mut session = harness.core.session.lock().await;
            harness.ensure_thread(&mut session).await?;
            let thread = session.thread.as_ref().ok_or(HarnessError::NoThread)?;
            let lease = thread.lease;
            if harness.core.org().thread_file_count(lease.thread()).await? >= MAX_IMAGES {
                return Err(HarnessError::TooManyImages(MAX_IMAGES));
            }
            let mut content = [image];
            harness.core.store_attachments(lease, &mut content).await?;
            let [Content::Image(media)] = content else { return Err(HarnessError::NotAnImage) };
            Ok(media)
        })
        .await
    }

    /// Returns an image of the current thread, as a part of a message.
    pub async fn image(&self, id: BlobId) -> Result<Content, HarnessError> {
        let thread = self.current_thread().await.ok_or(HarnessError::NoThread)?;
        let found = crate::session::load_file(self.core.org(), thread.id, id).await?;
        found.map(Content::Image).ok_or(HarnessError::UnknownImage(id))
    }
}

/// Returns an image of a thread: its type, and its bytes.
pub async fn read_image(
    store: OrgStore<'_>,
    thread: ThreadId,
    id: BlobId,
) -> Result<Option<(&'static str, Vec<u8>)>, StoreError> {
    let Some(file) = store.thread_file(thread, id).await? else { return Ok(None) };
    // The bytes say what they are, so that nothing else is ever shown.
    Ok(media_type(&file.bytes).map(|kind| (kind, file.bytes)))
}
