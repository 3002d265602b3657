//! Why a run of a conversation or of a workflow failed.

use ostler_store::StoreError;

use crate::records::UnreadableRecord;

/// Why a run failed. Its input stays in the inbox and is tried again.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Unreadable(#[from] UnreadableRecord),
    #[error("answering the message panicked; the log has the details")]
    Panicked,
    /// Others changed the records that the agent's tools wanted to change.
    #[error("the changes that the agent made can no longer be stored: {0}")]
    Outdated(String),
}
