//! The event stream of an org: `/v1/events`.
//!
//! Each event of the log has an id. A client that reconnects sends the last one
//! as `Last-Event-ID` and neither misses nor repeats an event. Events without an
//! id are ephemeral.

use ostler_domain::id::{AgentId, RunId, SessionId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name of the first event of every stream; its id is the start position.
pub const OPEN_EVENT: &str = "open";
/// Name of the event that reports events deleted before they were read.
pub const PRUNED_EVENT: &str = "pruned";
/// Name of the event that carries streamed text; it has no id.
pub const DELTA_EVENT: &str = "delta";

/// Query of `GET /v1/events`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EventsQuery {
    /// The organization, by id or slug. Who works in one only may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Start after this event id. `Last-Event-ID` takes precedence; without
    /// either, the stream starts with new events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Include streamed text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deltas: bool,
}

/// Data of an event. The name of the event is its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventData {
    pub at: Timestamp,
    pub data: Value,
}

/// Data of the `delta` event: what an agent is writing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AgentDelta {
    pub session: SessionId,
    pub run: RunId,
    pub agent: AgentId,
    /// How many drafts of this run were discarded before.
    pub attempt: u32,
    #[serde(flatten)]
    pub change: DraftChange,
}

/// How a draft changes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "delta", rename_all = "snake_case")]
pub enum DraftChange {
    Text {
        /// The length of the draft before this text, in bytes.
        offset: usize,
        text: String,
    },
    /// The draft so far is void.
    DraftDiscarded,
    Calling {
        tool: String,
    },
    /// The run is committed, with its messages.
    Over,
    #[serde(other)]
    Other,
}

/// Data of the `pruned` event: read a snapshot, then continue with the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventsPruned {
    /// Id of the position from which the log is complete.
    pub go_on_from: String,
}
