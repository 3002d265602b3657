//! What happens beside conversations, and what people do about them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::channel::Channel;
use crate::id::{
    AgentId, ContactId, NoteId, NoticeId, OrgId, ProposalId, SessionId, UserId, WebhookId,
    WorkflowId,
};
use crate::notice::NoticeKind;
use crate::soul::proposal::ProposalAuthor;
use crate::time::Timestamp;

/// Data of `session_assigned`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionAssigned {
    pub session: SessionId,
    /// Nobody in particular if it is null.
    pub user: Option<UserId>,
}

/// Data of `note_added` and `note_deleted`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoteChanged {
    pub session: SessionId,
    pub note: NoteId,
}

/// Data of `outreach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutreachSent {
    pub agent: AgentId,
    pub contact: ContactId,
    pub channel: Channel,
    /// The address on the channel; webhooks do not get it.
    pub to: String,
    /// The subject of an e-mail; webhooks do not get it.
    pub subject: Option<String>,
}

/// Data of `soul_proposed`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SoulProposed {
    pub proposal: ProposalId,
    /// The agent whose soul would change.
    pub agent: AgentId,
    pub author: ProposalAuthor,
    pub reason: String,
    /// The version that the proposal is based on.
    pub base_version: u32,
    pub expires_at: Timestamp,
    /// The fields that would change, as they are; webhooks do not get them.
    pub before: Value,
    /// The fields that would change, as proposed; webhooks do not get them.
    pub after: Value,
}

/// Data of `signed_up`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OrgSignedUp {
    pub organization: OrgId,
    pub slug: String,
    pub name: String,
    pub session: SessionId,
}

/// Data of `notice`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoticeStored {
    pub notice: NoticeId,
    pub kind: NoticeKind,
}

/// Data of `workflow_started`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkflowStarted {
    pub workflow: WorkflowId,
    /// The name of its definition.
    pub name: String,
}

/// Data of `workflow_step`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkflowStepEnded {
    pub workflow: WorkflowId,
    /// The name of its definition.
    pub name: String,
    pub step: String,
    /// `done`, `skipped`, `failed`, `stopped`, `undone` or `not_undone`.
    pub state: String,
}

/// Data of `workflow_waiting`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkflowWaits {
    pub workflow: WorkflowId,
    /// The name of its definition.
    pub name: String,
    /// The tasks that wait: a step, or one item of a step.
    pub tasks: Vec<String>,
}

/// Data of `workflow_ended`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkflowEnded {
    pub workflow: WorkflowId,
    /// The name of its definition.
    pub name: String,
    /// `done`, `failed` or `cancelled`.
    pub status: String,
}

/// Data of `webhook_test`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WebhookTested {
    pub webhook: WebhookId,
}
