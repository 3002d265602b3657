//! May the agent act upon a message, and must somebody approve it first?

use std::sync::Arc;

use ostler_bus::now;
use ostler_domain::dispatch::authority::{Authority, authority};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::dispatch::plan::{Plan, PlanStatus};

use super::Harness;
use super::dispatch::Undone;
use crate::queue::context::AgentContext;
use crate::queue::coordination::{Coordination, PlanApprovalRequest};
use crate::queue::error::Result as QueueResult;
use crate::queue::plans::PlanKey;

/// What the gate says.
pub(super) enum Passed {
    /// The agent may act.
    Go(Authority),
    /// It may act, because this plan was approved.
    Approved(Authority, PlanKey),
    /// The message waits for an answer.
    Held,
}

impl Harness {
    /// What the agent may do with a message without claims, unless it asks.
    pub(super) fn free_way(&self, context: &AgentContext) -> Option<Authority> {
        let tier = self.spec.tier.stricter(context.runtime.options().tier_without_claims);
        let free = context.cause.claims.is_empty() && !tier.asks_first();
        free.then_some(Authority { tier, granted_by: None })
    }

    pub(super) async fn gate(&self, context: &AgentContext) -> Result<Passed, Undone> {
        let envelope = &context.cause;
        let kind = envelope.message.kind.as_str();
        let without_claims = context.runtime.options().tier_without_claims;
        let granted = authority(&envelope.claims, &self.spec.name, kind, without_claims, now());
        let mut authority = granted
            .map_err(|refused| Undone::dead(FailureClass::Permission, refused.to_string()))?;
        authority.tier = authority.tier.stricter(self.spec.tier);
        if !authority.tier.asks_first() {
            return Ok(Passed::Go(authority));
        }
        self.propose(context, authority).await
    }

    /// Proposes a plan, unless that was done and answered.
    async fn propose(
        &self,
        context: &AgentContext,
        mut authority: Authority,
    ) -> Result<Passed, Undone> {
        let envelope = &context.cause;
        let approver = self.approver(context, &authority).await?.ok_or_else(|| {
            let reason = "this needs approval, and nobody is named who could approve it";
            Undone::dead(FailureClass::Permission, reason)
        })?;
        let key = PlanKey { agent: self.spec.name.clone(), message: envelope.message.id };
        let plan = Plan::propose(
            envelope.reference,
            self.spec.name.clone(),
            approver.clone(),
            envelope.context.from_agent.clone(),
        );
        let plans = context.runtime.plans();
        match plans.hold(&key, plan.clone(), Arc::clone(envelope)).await? {
            PlanStatus::Approved => {
                authority.granted_by.get_or_insert(approver);
                return Ok(Passed::Approved(authority, key));
            }
            // Who rejected it is also who sees to the rest.
            PlanStatus::Rejected { .. } => return Ok(Passed::Held),
            PlanStatus::Waiting => {}
        }
        let proposal = self.agent.plan_any(envelope);
        let mut request = PlanApprovalRequest { key, plan, proposal }.envelope(envelope.reference);
        request.priority = envelope.priority;
        request.context.parent_message = Some(envelope.message.id);
        request.context.original_goal.clone_from(&envelope.context.original_goal);
        request.context.team.clone_from(&envelope.context.team);
        request.context.from_agent = Some(self.spec.name.clone());
        request.context.reply_to = Some(self.queue.clone());
        context.runtime.send(&approver, request).await?;
        Ok(Passed::Held)
    }

    /// Who approves: whoever granted it, or leads the agent's team, or is named
    /// for all agents.
    async fn approver(
        &self,
        context: &AgentContext,
        authority: &Authority,
    ) -> QueueResult<Option<AgentName>> {
        if authority.granted_by.is_some() {
            return Ok(authority.granted_by.clone());
        }
        for team in self.teams() {
            let leader = context.runtime.leader(&team).await?;
            if let Some(leader) = leader.filter(|leader| *leader != self.spec.name) {
                return Ok(Some(leader));
            }
        }
        Ok(context.runtime.options().approver.clone())
    }
}
