//! Runs: how messages were answered, and in which harness.

use ostler_domain::id::{AgentId, InboxId, RunId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::session::Run;

/// A run with its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunDetail {
    pub run: Run,
    pub session: SessionId,
    /// The inbox entries that it answers.
    pub input: Vec<InboxId>,
    pub steps: Vec<RunStep>,
}

/// A step of a run. Numbers are names of steps: they are not in the order in which steps run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStep {
    /// Such as `3` or `7.5`.
    pub step: String,
    pub name: String,
    pub took_us: u64,
}

/// The harness of each turn of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHarness {
    pub run: RunId,
    pub turns: Vec<TurnHarness>,
}

/// The harness of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnHarness {
    pub agent: AgentId,
    /// Nine groups: identity, soul, tool scope, credit budget, autonomy, rate limits, session
    /// context, error state and escalation state.
    pub harness: Value,
}

/// What an agent may call, with the decision on each tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolExplanation {
    pub agent: AgentId,
    /// Absent for a new conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    pub tools: Vec<ExplainedTool>,
    /// The organization's own tools that cannot be used at the moment, each with the reason.
    pub unavailable: Vec<MissingTool>,
}

/// A tool and why an agent has it or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedTool {
    pub name: String,
    /// `read`, `write` or `destructive`.
    pub risk: String,
    /// Whether the scope of the agent has it.
    pub in_scope: bool,
    /// `allow`, `ask` or `deny`: what would happen to a call now.
    pub decision: String,
    /// The reason, in words.
    pub why: String,
}

/// A tool that cannot be used at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingTool {
    pub name: String,
    pub reason: String,
}
