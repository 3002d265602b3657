//! Messages to teams of agents on queues: questions and broadcasts.

use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::reference::ReferenceCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest wait for the answers of a team, in milliseconds.
pub const MAX_ANSWER_WAIT_MS: u64 = 50_000;

/// Body of `POST queue-teams/TEAM/questions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamQuestion {
    pub text: String,
    /// The type of the message; `say` without it.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether every member is asked at the same time, and not only the leader.
    #[serde(default)]
    pub council: bool,
    /// How many members of a council must answer; more than half without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u32>,
    /// How many milliseconds to wait, up to 50000; 30000 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The answers of a team.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TeamAnswers {
    pub reference: ReferenceCode,
    /// How many members were asked.
    pub asked: u64,
    /// How many milliseconds it took.
    pub millis: u64,
    pub answers: Vec<TeamAnswer>,
    /// Members without an answer.
    pub missing: Vec<UnreachedAgent>,
}

/// The answer of a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TeamAnswer {
    pub agent: AgentName,
    #[serde(rename = "type")]
    pub kind: String,
    pub payload: Value,
}

/// An agent that did not answer or get a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreachedAgent {
    pub agent: AgentName,
    pub why: String,
}

/// Body of `POST queue-teams/TEAM/messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamBroadcast {
    pub text: String,
    /// The type of the message; `say` without it.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// A message that was sent to the members of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentBroadcast {
    pub message: EnvelopeId,
    pub reference: ReferenceCode,
    /// How many members get it.
    pub told: u64,
    pub missed: Vec<UnreachedAgent>,
}
