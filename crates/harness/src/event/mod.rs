//! Events: everything a user interface needs to know.
//!
//! The JSON form of an event has a `type`, the keys of its kind, and `ext` with
//! everything else: the number and time of the event, the thread, the turn, and details of
//! some kinds. Events with a number are durable: they are stored with what they report,
//! and a reader that was away continues after the last number it has seen. Events without
//! a number report progress and are not repeated.

mod current;
mod hub;
mod kinds;
mod subscription;

use ostler_domain::id::{RunId, ThreadId};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use current::CurrentEvents;
pub(crate) use hub::{EventHub, EventReader, HeldEvent};
pub use kinds::{
    AskEvent, ContextEvent, EventKind, MessageEvent, OmEvent, SessionEvent, SubagentEvent,
    ToolEvent, TurnLifeEvent, WorkspaceEvent, WorkspacePhase,
};
pub use subscription::Subscription;

/// An event of a harness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HarnessEvent {
    #[serde(flatten)]
    pub kind: EventKind,
    pub ext: EventDetails,
}

/// What is known of an event beyond the keys of its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventDetails {
    /// The number of a durable event. Numbers of a thread only grow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<RunId>,
    /// The tool calls that lead to the subagent that the event is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    #[serde(flatten)]
    pub more: serde_json::Map<String, Value>,
}
