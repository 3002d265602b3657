//! What is kept of conversations: sessions, messages, runs, and what waits in an
//! inbox or an outbox. Values that are stored as JSON, and nothing else.

pub mod asked;
pub mod entry;
pub mod message;
pub mod outgoing;
pub mod run;
pub mod session;
pub mod snapshot;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Something stored cannot be read: a newer program wrote it, or it is damaged.
#[derive(Debug, thiserror::Error)]
#[error("the stored {what} cannot be read: {why}")]
pub struct Unreadable {
    what: &'static str,
    why: String,
}

/// Reads something that was stored.
pub(crate) fn read<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, Unreadable> {
    serde_json::from_str(text).map_err(|error| Unreadable { what, why: error.to_string() })
}

/// The form in which something is stored. The values of this crate have texts
/// as the keys of their maps, so that this does not fail.
pub(crate) fn write<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
