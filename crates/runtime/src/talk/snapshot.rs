//! The agent harness of a turn, as it is kept on the run: nine groups, each
//! filled in or said to be empty. What has versions is referred to by them.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::agent::Protection;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::{AgentLimits, DayCounters};
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, ContactId, DocumentId, OrgId, SessionId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetView, TurnBudget};
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::session::errors::DegradedReason;
use ostler_domain::tool::{Integration, ToolName};
use serde::{Deserialize, Serialize};

/// The agent harness of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Who answers.
    pub identity: Identity,
    /// Which personality and rules.
    pub soul: SoulRef,
    /// With which tools.
    pub tool_scope: ScopeView,
    /// For how much.
    pub credit_budget: BudgetGroup,
    /// How freely.
    pub autonomy: Autonomy,
    /// How often.
    pub rate_limits: RateLimits,
    /// With whom, and knowing what.
    pub session_context: SessionContext,
    /// After which failures.
    pub error_state: Errors,
    /// With whose help.
    pub escalation_state: EscalationView,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The agent.
    pub agent_id: AgentId,
    /// The version of its configuration.
    pub agent_version: u32,
    /// Its name.
    pub display_name: String,
    /// Its role.
    pub subtype: Subtype,
    /// Whether its org may change it.
    pub protected: Protection,
    /// The tenant.
    pub organization_id: OrgId,
    /// Where it stands.
    pub business_layer: BusinessLayer,
}

/// A version of a soul.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoulRef {
    /// Under whose id it is stored.
    pub owner: AgentId,
    /// Its number; 0 means that there is none.
    pub version: u32,
}

/// The tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeView {
    /// What the model was offered.
    pub active_tools: Vec<ToolName>,
    /// What failed too often in this session.
    pub disabled_for_session: Vec<ToolName>,
    /// The services that tools need.
    pub integration_requirements: Vec<(ToolName, Integration)>,
    /// The version of the platform's policy.
    pub platform_policy: u32,
    /// The version of the org's policy.
    pub org_policy: u32,
}

/// The money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetGroup {
    /// What the session, the org and its parent have left.
    #[serde(flatten)]
    pub left: BudgetView,
    /// What the turn began with.
    pub turn: TurnBudget,
    /// Whose spending it counts as.
    pub budget_owner: AgentId,
}

/// How freely an agent acts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Autonomy {
    /// The level.
    pub autonomy_level: AutonomyLevel,
    /// Tools that ask first at every level.
    pub require_approval_for: BTreeSet<ToolName>,
    /// Topics that go to a person.
    pub blocked_topics: Vec<String>,
}

/// How often an agent answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimits {
    /// The most of a day.
    #[serde(flatten)]
    pub limits: AgentLimits,
    /// What was done today, before this.
    pub today: DayCounters,
}

/// With whom, and knowing what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionContext {
    /// The session.
    pub session_id: SessionId,
    /// The channel.
    pub channel: Channel,
    /// What the channel calls them.
    pub external_contact_identifier: String,
    /// How many messages of the conversation were read.
    pub conversation_history: usize,
    /// The contact they are known as.
    pub crm_contact: Option<ContactId>,
    /// The documents that were read.
    pub knowledge_base_docs: Vec<DocumentId>,
    /// Whether questions are asked in an order.
    pub session_mode: SessionMode,
    /// Whether it is a test.
    pub testing_mode: bool,
}

/// Whether questions are asked in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionMode {
    /// No.
    Freeform,
    /// Yes.
    Guided,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// The failures of each tool, before this turn.
    pub failed_tools_this_session: BTreeMap<ToolName, u32>,
    /// How often a model was asked again in this turn.
    pub llm_retries_used: u32,
    /// Whether the session works with less than it should.
    pub is_degraded_mode: bool,
    /// Why.
    pub degraded_reason: Option<DegradedReason>,
}

/// Whether a person was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationView {
    /// Whether a person was asked for and has not finished.
    pub human_escalation_requested: bool,
    /// Why.
    pub escalation_reason: Option<String>,
    /// Calls that people are to decide on.
    pub pending_approvals: u32,
    /// What the team has left, in a team session.
    pub team_budget_remaining: Option<Credits>,
}
