//! The values of conversations that are stored as JSON: sessions, messages, runs, inbox
//! entries, outgoing messages and refunds. No behaviour beyond reading and writing them.

pub mod api_request;
pub mod bus_request;
pub mod call;
pub mod entry;
pub mod message;
pub mod outgoing;
pub mod refund;
pub mod run;
pub(crate) mod run_step;
pub mod session;
pub mod snapshot;
mod stored_run;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A stored value cannot be decoded: a newer program wrote it, or it is corrupt.
#[derive(Debug, thiserror::Error)]
#[error("the stored {what} cannot be read: {why}")]
pub struct UnreadableRecord {
    what: &'static str,
    why: String,
}

/// Decodes a stored value. `what` names it in the error.
pub(crate) fn decode<T: DeserializeOwned>(
    what: &'static str,
    text: &str,
) -> Result<T, UnreadableRecord> {
    serde_json::from_str(text).map_err(|error| UnreadableRecord { what, why: error.to_string() })
}

/// Encodes a value to be stored. This does not fail, because the maps of this crate's values
/// have string keys.
pub(crate) fn encode<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
