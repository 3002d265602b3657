//! What happens, as it happens: `/v1/events`.
//!
//! Each event of the log has an id, which a client that reconnects sends as
//! `Last-Event-ID`; it misses and repeats nothing. What has no id is ephemeral.

use ostler_domain::id::SessionId;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The first event of every stream: the place from which on it is read.
pub const OPEN: &str = "open";
/// The event that says that some were deleted before they were read.
pub const PRUNED: &str = "pruned";
/// The event of a piece that an agent is writing; it has no id.
pub const DELTA: &str = "delta";

/// Which events are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Follow {
    /// Those of one session only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Those behind this place; `Last-Event-ID` goes before it, and without
    /// either they are those that happen from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Whether what agents are writing is wanted as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deltas: bool,
}

/// Something that happened. The name of the event is its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happened {
    /// When.
    pub at: Timestamp,
    /// What.
    pub data: Value,
}

/// Some events were deleted before they were read: read a snapshot, the stream
/// goes on behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// The place from which on all events are there.
    pub go_on_from: String,
}
