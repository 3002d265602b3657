//! What the business layers exchange: issues, delegations to an organization and insights; and
//! what agents propose about agents: souls and autonomy levels.

use ostler_domain::agent::autonomy::TrackRecord;
use ostler_domain::hierarchy::Importance;
use ostler_domain::id::{AgentId, NoticeId, RecordId};
use ostler_domain::soul::Soul;
use ostler_domain::soul::proposal::{Proposal, ProposalAuthor};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An issue, a delegation or an insight, with its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Record")]
pub struct Exchanged<T> {
    pub id: RecordId,
    pub created_at: Timestamp,
    #[serde(flatten)]
    pub record: T,
}

/// Resolves an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveIssueRequest {
    /// What was decided, for the agent that sent the issue.
    pub resolution: String,
}

/// Gives work to a client, or from the platform to an agency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegateRequest {
    /// The slug of the organization.
    pub to: String,
    pub instruction: String,
    #[serde(default)]
    pub priority: Option<Importance>,
}

/// Completes a delegation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteRequest {
    /// What was done, for those who gave the work.
    pub result: String,
}

/// Rejects a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectProposalRequest {
    pub reason: String,
}

/// The measured figures of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentFigures {
    pub agent: AgentId,
    pub figures: TrackRecord,
}

/// What a project manager told an agent; the agent follows it until it is withdrawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instruction {
    pub id: NoticeId,
    pub text: String,
    pub created_at: Timestamp,
}

/// A proposal to change a soul.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoulProposal {
    #[serde(flatten)]
    pub proposal: Proposal,
    pub author: ProposalAuthor,
    /// The soul that it was made against; only in the answer to one proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soul_before: Option<Soul>,
    /// The current version of the soul; only in the answer to one proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_version: Option<u32>,
}

/// The state of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalState {
    #[default]
    Pending,
    Applied,
    Rejected,
    Expired,
    /// The soul was changed otherwise meanwhile.
    Superseded,
}

/// Which proposals are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoulProposalsQuery {
    /// Those that wait for a decision without it.
    #[serde(default)]
    pub state: ProposalState,
    /// At most 200.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// Proposes another soul for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSoulProposal {
    /// The id or slug of the agent.
    pub agent: String,
    pub soul: Soul,
    /// Why the change helps.
    pub reason: String,
}

/// What looking back at the conversations of an agent led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoulReflection {
    /// `null` if no change is proposed.
    pub proposal: Option<SoulProposal>,
    /// Why it is proposed, or why nothing is.
    pub reason: String,
    /// Whether there was anything to look back at.
    pub looked_back: bool,
}
