//! A plan as it is stored.

use std::sync::Arc;

use ostler_bus::Envelope;
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::plan::{AgentPlan, PlanEffect, PlanStatus};
use serde::{Deserialize, Serialize};

use super::{PlanKey, ReceivedPlanAnswer, WaitingPlan};
use crate::agents::error::Result;

/// A plan and the message that waits for it.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::agents) struct StoredPlan {
    plan: AgentPlan,
    held: Arc<Envelope>,
    /// The message that decided, and the effect.
    decided: Option<(EnvelopeId, PlanEffect)>,
}

impl StoredPlan {
    pub(in crate::agents) const fn new(plan: AgentPlan, held: Arc<Envelope>) -> Self {
        Self { plan, held, decided: None }
    }

    /// Returns the plan if it waits for an answer.
    pub(in crate::agents) fn waiting(&self) -> Option<WaitingPlan> {
        let (plan, request) = (self.plan.clone(), Arc::clone(&self.held));
        let key = PlanKey { agent: plan.proposed_by.clone(), message: request.message.id };
        (*plan.status() == PlanStatus::Waiting).then_some(WaitingPlan { key, plan, request })
    }

    pub(in crate::agents) fn status(&self) -> PlanStatus {
        self.plan.status().clone()
    }

    /// Applies an answer, or returns the effect of the same answer given
    /// before.
    pub(in crate::agents) fn decide(
        &mut self,
        answered: ReceivedPlanAnswer,
    ) -> Result<(PlanEffect, Arc<Envelope>)> {
        let repeated = self.decided.as_ref().filter(|(by, _)| *by == answered.message);
        if let Some((_, effect)) = repeated {
            return Ok((effect.clone(), Arc::clone(&self.held)));
        }
        let effect = self.plan.answer(&answered.by, answered.reference, answered.answer)?;
        self.decided = Some((answered.message, effect.clone()));
        Ok((effect, Arc::clone(&self.held)))
    }
}
