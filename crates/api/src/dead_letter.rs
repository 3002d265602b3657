//! Dead letters: messages that could not be answered or delivered.

use ostler_domain::id::ConversationId;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message that a person has to replay or abandon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetter {
    /// `inb_…` for an inbox entry that was not answered, `out_…` for an outbox
    /// entry that was not delivered.
    pub id: String,
    pub conversation: ConversationId,
    pub fault: DeadLetterFault,
    pub reason: String,
    pub attempts: u32,
    pub at: Timestamp,
    pub message: Value,
}

/// What is wrong with the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeadLetterFault {
    /// No further attempt is made.
    Dead,
    /// Whether it was sent is not known.
    OutcomeUnknown,
}

/// Body of `POST dead-letters/ID/abandon`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbandonRequest {
    pub why: String,
}
