//! Conversations in which people test an agent.

use ostler_domain::id::{ApprovalId, RunId, SessionId};
use ostler_domain::money::Credits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST agents/AGENT/test-messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestMessageRequest {
    /// The name of the test conversation, a word of the caller's choice. Another name begins
    /// another conversation.
    pub conversation: String,
    pub text: String,
}

/// Response to `POST agents/AGENT/test-messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestAnswer {
    pub run: RunId,
    pub session: SessionId,
    /// How the run ended, as a stable word.
    pub outcome: String,
    /// What was said, in order.
    pub texts: Vec<String>,
    pub credits: Credits,
    /// Calls that wait for a person.
    pub pending_approvals: Vec<ApprovalId>,
}
