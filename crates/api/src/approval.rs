//! Approvals: tool calls that wait for a person's decision.

use ostler_domain::gate::AskReason;
use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::gate::blast_radius::BlastRadius;
use ostler_domain::id::{AgentId, ApprovalId, SessionId};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::transcript::DecisionRule;

/// A tool call that waits for a person's decision, or the record of one that did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    pub id: ApprovalId,
    pub session: SessionId,
    pub agent: AgentId,
    pub tool: ToolName,
    pub arguments: Value,
    /// `read`, `write` or `destructive`.
    pub risk: String,
    pub why: AskReason,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
    /// Adds `status`, and who decided, to the object.
    #[serde(flatten)]
    pub status: ApprovalStatus,
}

/// An approval with the rule by which the call asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalDetail {
    #[serde(flatten)]
    pub approval: Approval,
    pub rule: DecisionRule,
    /// What the call would touch.
    pub blast_radius: BlastRadius,
}

/// A call that was approved, and when it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovedCall {
    #[serde(flatten)]
    pub approval: Approval,
    pub call: CallTiming,
}

/// When an approved call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallTiming {
    Now,
    /// The agent is answering something else; the call is made after that.
    AfterTurn,
    /// The session waits for a person; the call is made when an agent gets it back, or at once
    /// if that was asked for.
    AfterTakeover,
    /// A person has the session; the call is made when an agent gets it back, or at once if
    /// that was asked for.
    AfterResume,
}

/// Filter of the list of approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    #[default]
    Pending,
    /// Approved, but the call has not run yet.
    Approved,
    /// The call has run.
    Used,
    Rejected,
    /// Nobody decided in time, or the approved call was not made in time.
    Expired,
    /// The session ended before the call was made.
    Withdrawn,
}

/// Body of `POST approvals/ID/approve`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveRequest {
    /// Replaces the arguments that the agent asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Makes the call at once even while a person has the conversation. The agent says
    /// nothing then.
    #[serde(default)]
    pub now: bool,
}

/// Body of `POST approvals/ID/reject`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectRequest {
    /// Shown to the agent.
    pub reason: String,
}
