//! A plan as it is kept, with the message that waits for it.

use std::sync::Arc;

use ostler_bus::Envelope;
use ostler_domain::dispatch::plan::{Plan, PlanEffect, PlanStatus};
use ostler_domain::id::EnvelopeId;
use serde::{Deserialize, Serialize};

use super::Answered;
use crate::queue::error::Result;

/// A plan and its message.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::queue) struct Kept {
    plan: Plan,
    held: Arc<Envelope>,
    /// The message that decided, and what follows.
    decided: Option<(EnvelopeId, PlanEffect)>,
}

impl Kept {
    pub(in crate::queue) const fn new(plan: Plan, held: Arc<Envelope>) -> Self {
        Self { plan, held, decided: None }
    }

    /// Where the plan stands.
    pub(in crate::queue) fn status(&self) -> PlanStatus {
        self.plan.status().clone()
    }

    /// Takes an answer, or repeats what the same answer led to before.
    pub(in crate::queue) fn decide(
        &mut self,
        answered: Answered,
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
