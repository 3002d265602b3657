//! What happens in conversations.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::channel::Channel;
use crate::human::escalation::{EscalationStatus, Urgency};
use crate::id::{AgentId, ApprovalId, EscalationId, MessageId, RunId, SessionId, UserId};
use crate::message::{MessageAuthor, MessagePurpose};
use crate::money::Credits;
use crate::session::key::ConversationEntry;
use crate::session::lifetime::CloseReason;
use crate::time::Timestamp;
use crate::tool::{Risk, ToolName};

/// Data of `message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MessageAdded {
    pub author: MessageAuthor,
    pub message: MessageId,
    pub purpose: MessagePurpose,
    /// The run that added it.
    pub run: Option<RunId>,
    pub session: SessionId,
    /// The words; webhooks do not get them.
    pub text: String,
}

/// Data of `session_opened`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionOpened {
    pub session: SessionId,
    pub channel: Channel,
    /// Who writes: a customer, the owner, or somebody who tests.
    pub entry: ConversationEntry,
    /// The agent that answers first.
    pub agent: Option<AgentId>,
}

/// Data of `session_closed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionClosed {
    pub session: SessionId,
    pub reason: CloseReason,
}

/// Data of `escalation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EscalationChanged {
    pub escalation: EscalationId,
    pub session: SessionId,
    pub status: EscalationStatus,
    /// Only when the escalation begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
    /// Only when the escalation begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Data of `taken_over`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionTakenOver {
    pub session: SessionId,
    pub user: UserId,
}

/// Data of `customer_waits`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CustomerWaits {
    pub session: SessionId,
}

/// Data of `false_positive`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FalsePositive {
    pub session: SessionId,
    pub escalation: Option<EscalationId>,
}

/// Data of `handoff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionHandedOver {
    pub session: SessionId,
    pub from: AgentId,
    pub to: AgentId,
    pub reason: String,
}

/// Data of `team_assigned`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TeamAssigned {
    pub session: SessionId,
    /// The first of them answers from the next message on.
    pub agents: Vec<AgentId>,
    pub by: UserId,
}

/// Data of `approval_wanted`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ApprovalWanted {
    pub approval: ApprovalId,
    pub session: SessionId,
    pub agent: AgentId,
    pub tool: ToolName,
    pub risk: Risk,
    pub expires_at: Timestamp,
    /// The arguments of the call; webhooks do not get them.
    pub arguments: Value,
}

/// Data of `approval_decided`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalDecided {
    pub approval: ApprovalId,
    pub session: SessionId,
    pub agent: AgentId,
    pub tool: ToolName,
    pub approved: bool,
    pub by: UserId,
}

/// Data of `approval_expired`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalExpired {
    pub approval: ApprovalId,
    pub session: SessionId,
    pub agent: AgentId,
    pub tool: ToolName,
}

/// Data of `approved_call_made` and `approved_call_failed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovedCallReport {
    pub approval: ApprovalId,
    pub session: SessionId,
    pub tool: String,
    /// The outcome of the call, in words.
    pub outcome: Cow<'static, str>,
    /// What the tool answered, or why it was not called.
    pub why: String,
}

/// Data of `tool_disabled`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolDisabled {
    pub tool: ToolName,
    pub session: SessionId,
    pub agent: AgentId,
}

/// Data of `run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunFinished {
    /// The agents that took part, in order.
    pub agents: Vec<AgentId>,
    pub credits: Credits,
    /// `answered`, `escalated`, `failed` and so on, as in the run's record.
    pub outcome: Cow<'static, str>,
    pub run: RunId,
    pub session: SessionId,
}

/// Data of `interview_completed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InterviewCompleted {
    pub session: SessionId,
    /// The answers by field; webhooks do not get them.
    pub fields: BTreeMap<String, String>,
}
