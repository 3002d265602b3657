//! The plans of one process; they are gone with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::dispatch::plan::{Plan, PlanEffect, PlanStatus};
use ostler_domain::id::EnvelopeId;

use super::{Answered, PlanKey, Plans};
use crate::queue::error::{QueueError, Result};

/// Plans in memory.
#[derive(Debug, Default)]
pub struct MemoryPlans(Mutex<HashMap<PlanKey, Kept>>);

#[derive(Debug)]
struct Kept {
    plan: Plan,
    held: Arc<Envelope>,
    /// The message that decided, and what follows.
    decided: Option<(EnvelopeId, PlanEffect)>,
}

impl Kept {
    fn answer(&mut self, answered: Answered) -> Result<(PlanEffect, Arc<Envelope>)> {
        let repeated = self.decided.as_ref().filter(|(by, _)| *by == answered.message);
        if let Some((_, effect)) = repeated {
            return Ok((effect.clone(), Arc::clone(&self.held)));
        }
        let effect = self.plan.answer(&answered.by, answered.reference, answered.answer)?;
        self.decided = Some((answered.message, effect.clone()));
        Ok((effect, Arc::clone(&self.held)))
    }
}

impl MemoryPlans {
    fn plans(&self) -> MutexGuard<'_, HashMap<PlanKey, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plans for MemoryPlans {
    fn hold<'a>(
        &'a self,
        key: &'a PlanKey,
        plan: Plan,
        held: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<PlanStatus>> {
        Box::pin(async move {
            let mut plans = self.plans();
            let kept = plans.entry(key.clone()).or_insert(Kept { plan, held, decided: None });
            Ok(kept.plan.status().clone())
        })
    }

    fn answer<'a>(
        &'a self,
        key: &'a PlanKey,
        answered: Answered,
    ) -> BoxFuture<'a, Result<(PlanEffect, Arc<Envelope>)>> {
        Box::pin(async move {
            let mut plans = self.plans();
            let kept = plans.get_mut(key);
            kept.ok_or_else(|| QueueError::UnknownPlan(key.agent.clone()))?.answer(answered)
        })
    }

    fn forget<'a>(&'a self, key: &'a PlanKey) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.plans().remove(key);
            Ok(())
        })
    }
}
