//! Messages that could not be answered, or not be sent.

use ostler_domain::id::ConversationId;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Its id: `inb_…` if it was accepted and not answered, `out_…` if it was to
    /// be sent.
    pub id: String,
    /// Its conversation.
    pub conversation: ConversationId,
    /// What is wrong with it.
    pub fault: Fault,
    /// Why.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Since when.
    pub at: Timestamp,
    /// The message.
    pub message: Value,
}

/// What is wrong with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It is not tried any more.
    Dead,
    /// Nobody knows whether it was sent.
    OutcomeUnknown,
}

/// Why a message is laid aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abandon {
    /// Why.
    pub why: String,
}
