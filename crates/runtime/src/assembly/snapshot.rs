//! Records an agent harness, to be stored with the run.

use ostler_domain::scope::ToolScope;
use ostler_domain::soul::soul_owner;

use super::SessionFacts;
use super::credits::TurnFunds;
use crate::org_view::{AgentView, OrgView};
use crate::records::snapshot::{
    Autonomy, BudgetGroup, Errors, EscalationView, Identity, RateLimits, ScopeView, SessionContext,
    Snapshot, SoulRef,
};

/// What a snapshot is taken of.
pub(crate) struct SnapshotFacts<'a> {
    pub(crate) view: &'a OrgView,
    pub(crate) agent: &'a AgentView,
    pub(crate) scope: &'a ToolScope,
    pub(crate) funds: &'a TurnFunds,
    pub(crate) session: SessionFacts<'a>,
    pub(crate) rate_limits: RateLimits,
    pub(crate) session_context: SessionContext,
    pub(crate) escalation_state: EscalationView,
}

/// Returns the nine groups of the harness.
pub(crate) fn take_snapshot(facts: SnapshotFacts<'_>) -> Snapshot {
    let SnapshotFacts { view, scope, funds, session, .. } = facts;
    let AgentView { agent, version, position, soul_version, .. } = facts.agent;
    let degraded = session.errors.degraded(session.budget.spending_mode(), view.settings.errors);
    Snapshot {
        identity: Identity {
            agent_id: agent.id,
            agent_version: *version,
            display_name: agent.display_name.clone(),
            subtype: agent.subtype.clone(),
            protected: agent.protection,
            organization_id: agent.org,
            business_layer: position.business_layer,
        },
        soul: SoulRef { owner: soul_owner(agent), version: *soul_version },
        tool_scope: ScopeView {
            active_tools: scope.active().map(|spec| spec.name.clone()).collect(),
            disabled_for_session: scope.disabled_for_session().cloned().collect(),
            integration_requirements: scope
                .integration_requirements()
                .map(|(tool, service)| (tool.clone(), service.clone()))
                .collect(),
            platform_policy: view.platform_policy.version,
            org_policy: view.policy.version,
        },
        credit_budget: BudgetGroup {
            left: funds.remaining,
            turn: funds.budget,
            budget_owner: agent.id,
        },
        autonomy: Autonomy {
            autonomy_level: agent.autonomy,
            require_approval_for: agent.require_approval_for.clone(),
            blocked_topics: agent.blocked_topics.clone(),
        },
        rate_limits: facts.rate_limits,
        session_context: facts.session_context,
        error_state: Errors {
            failed_tools_this_session: session.errors.failures().clone(),
            llm_retries_used: 0,
            is_degraded_mode: degraded.is_some(),
            degraded_reason: degraded,
        },
        escalation_state: facts.escalation_state,
    }
}
