//! The authority check: whether the agent may act on a message, and whether
//! it needs approval first.
//!
//! A message that needs approval is stored with its plan and is then done for
//! the queue. The approval puts it back into the agent's queue, where it now
//! passes the gate; so it is handled, retried and dead-lettered like any other.

use std::sync::Arc;

use ostler_bus::now;
use ostler_domain::queue_agent::authority::{Authority, resolve_authority};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::plan::{AgentPlan, PlanStatus};

use super::QueueAgentHarness;
use super::dispatch::NotHandled;
use crate::agents::context::AgentContext;
use crate::agents::coordination::{CoordinationMessage, PlanApprovalRequest};
use crate::agents::error::Result as QueueResult;
use crate::agents::plans::PlanKey;

/// The result of the authority check.
pub(super) enum GateOutcome {
    Allowed(Authority),
    /// Allowed because this plan was approved.
    Approved(Authority, PlanKey),
    /// The message is stored until its plan is answered.
    AwaitingApproval,
}

impl QueueAgentHarness {
    /// Returns the authority for a message without claims, unless it needs
    /// approval.
    pub(super) fn authority_without_approval(&self, context: &AgentContext) -> Option<Authority> {
        let tier = self.spec.tier.stricter(context.runtime.options().tier_without_claims);
        let free = context.cause.claims.is_empty() && !tier.asks_first();
        free.then_some(Authority { tier, granted_by: None })
    }

    pub(super) async fn gate(&self, context: &AgentContext) -> Result<GateOutcome, NotHandled> {
        let envelope = &context.cause;
        let kind = envelope.message.kind.as_str();
        let without_claims = context.runtime.options().tier_without_claims;
        let granted =
            resolve_authority(&envelope.claims, &self.spec.name, kind, without_claims, now());
        let mut authority = granted.map_err(|refused| {
            NotHandled::dead_letter(FailureClass::Permission, refused.to_string())
        })?;
        authority.tier = authority.tier.stricter(self.spec.tier);
        if !authority.tier.asks_first() {
            return Ok(GateOutcome::Allowed(authority));
        }
        self.propose(context, authority).await
    }

    /// Proposes a plan unless it was already answered.
    async fn propose(
        &self,
        context: &AgentContext,
        mut authority: Authority,
    ) -> Result<GateOutcome, NotHandled> {
        let envelope = &context.cause;
        let approver = self.approver(context, &authority).await?.ok_or_else(|| {
            let reason = "this needs approval, but no approver is set";
            NotHandled::dead_letter(FailureClass::Permission, reason)
        })?;
        let key = PlanKey { agent: self.spec.name.clone(), message: envelope.message.id };
        let plan = AgentPlan::propose(
            envelope.reference,
            self.spec.name.clone(),
            approver.clone(),
            envelope.context.from_agent.clone(),
        );
        let plans = context.runtime.plans();
        match plans.hold(&key, plan.clone(), Arc::clone(envelope)).await? {
            PlanStatus::Approved => {
                authority.granted_by.get_or_insert(approver);
                return Ok(GateOutcome::Approved(authority, key));
            }
            // Handling the rejection has informed the requester.
            PlanStatus::Rejected { .. } => return Ok(GateOutcome::AwaitingApproval),
            PlanStatus::Waiting => {}
        }
        let proposal = self.agent.plan_dyn(envelope);
        let mut request = PlanApprovalRequest { key, plan, proposal }.envelope(envelope.reference);
        request.priority = envelope.priority;
        request.context.parent_message = Some(envelope.message.id);
        request.context.original_goal.clone_from(&envelope.context.original_goal);
        request.context.team.clone_from(&envelope.context.team);
        request.context.from_agent = Some(self.spec.name.clone());
        request.context.reply_to = Some(self.queue.clone());
        context.runtime.send(&approver, request).await?;
        Ok(GateOutcome::AwaitingApproval)
    }

    /// Returns who approves: the granter of the authority, else the leader of
    /// a team, else the approver of the runtime.
    async fn approver(
        &self,
        context: &AgentContext,
        authority: &Authority,
    ) -> QueueResult<Option<AgentName>> {
        if authority.granted_by.is_some() {
            return Ok(authority.granted_by.clone());
        }
        for team in self.teams() {
            let leader = context.runtime.team_leader(&team).await?;
            if let Some(leader) = leader.filter(|leader| *leader != self.spec.name) {
                return Ok(Some(leader));
            }
        }
        Ok(context.runtime.options().approver.clone())
    }
}
