//! The snapshot of an agent harness, stored with the run: nine groups. Versioned things are
//! referred to by their version.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::agent::Protection;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::{AgentLimits, DailyUsage};
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, ContactId, DocumentId, OrgId, SessionId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetView, TurnBudget};
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::session::errors::DegradedReason;
use ostler_domain::tool::{Integration, ToolName};
use serde::{Deserialize, Serialize};

/// The agent harness of a turn, in nine groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub identity: Identity,
    pub soul: SoulRef,
    pub tool_scope: ScopeView,
    pub credit_budget: BudgetGroup,
    pub autonomy: Autonomy,
    pub rate_limits: RateLimits,
    pub session_context: SessionContext,
    pub error_state: Errors,
    pub escalation_state: EscalationView,
}

/// The agent that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub agent_id: AgentId,
    pub agent_version: u32,
    pub display_name: String,
    pub subtype: Subtype,
    pub protected: Protection,
    pub organization_id: OrgId,
    pub business_layer: BusinessLayer,
}

/// A version of a soul.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoulRef {
    /// The agent whose soul it is.
    pub owner: AgentId,
    /// 0 means that there is no soul.
    pub version: u32,
}

/// The tool scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeView {
    /// The tools offered to the model.
    pub active_tools: Vec<ToolName>,
    /// Tools that failed too often in this session.
    pub disabled_for_session: Vec<ToolName>,
    /// The services that tools require.
    pub integration_requirements: Vec<(ToolName, Integration)>,
    pub platform_policy: u32,
    pub org_policy: u32,
}

/// The credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetGroup {
    /// What the session, the org and its parent have left.
    #[serde(flatten)]
    pub left: BudgetView,
    /// The budget at the start of the turn.
    pub turn: TurnBudget,
    /// The agent whose spending it counts as.
    pub budget_owner: AgentId,
}

/// How independently the agent acts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Autonomy {
    pub autonomy_level: AutonomyLevel,
    /// Tools that need approval at every level.
    pub require_approval_for: BTreeSet<ToolName>,
    /// Topics that are escalated to a person.
    pub blocked_topics: Vec<String>,
}

/// The limits of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimits {
    /// The daily limits.
    #[serde(flatten)]
    pub limits: AgentLimits,
    /// The usage of the day before this turn.
    pub today: DailyUsage,
}

/// The conversation and what the agent reads of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionContext {
    pub session_id: SessionId,
    pub channel: Channel,
    /// The channel's identifier of the customer.
    pub external_contact_identifier: String,
    /// The number of earlier messages in the history.
    pub conversation_history: usize,
    pub crm_contact: Option<ContactId>,
    pub knowledge_base_docs: Vec<DocumentId>,
    pub session_mode: SessionMode,
    pub testing_mode: bool,
}

/// Whether the session follows an interview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionMode {
    Freeform,
    Guided,
}

/// Failures before and during the turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Errors {
    /// The failures of each tool, before this turn.
    pub failed_tools_this_session: BTreeMap<ToolName, u32>,
    /// How often a model call was retried in this turn.
    pub llm_retries_used: u32,
    /// Whether the session works with reduced capabilities.
    pub is_degraded_mode: bool,
    pub degraded_reason: Option<DegradedReason>,
}

/// The state of the escalation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EscalationView {
    /// Whether an escalation is open.
    pub human_escalation_requested: bool,
    pub escalation_reason: Option<String>,
    /// Calls that wait for a person.
    pub pending_approvals: u32,
    /// Set in a team session.
    pub team_budget_remaining: Option<Credits>,
}
