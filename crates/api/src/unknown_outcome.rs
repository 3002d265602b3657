//! Unknown outcomes: tool calls that may or may not have taken effect.

use ostler_domain::id::{CallId, ConversationId, RunId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool call whose outcome is unknown; its conversation waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownOutcome {
    pub id: CallId,
    pub tool: String,
    pub arguments: Value,
    pub conversation: ConversationId,
    pub run: RunId,
    pub at: Timestamp,
}

/// Body of `POST unknown-outcomes/ID/resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    /// What happened, in words for the agent.
    pub outcome: String,
}
