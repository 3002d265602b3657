//! Calls of tools of which nobody knows what became.

use ostler_domain::id::{CallId, ConversationId, RunId};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that may or may not have been done; its conversation waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownCall {
    /// Its id.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// What it was called with.
    pub arguments: Value,
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its run.
    pub run: RunId,
    /// Since when.
    pub at: Timestamp,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// In words that the agent reads.
    pub outcome: String,
}
