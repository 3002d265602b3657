//! The plans of one process; they are gone with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::dispatch::plan::{Plan, PlanEffect, PlanStatus};

use super::kept::Kept;
use super::{Answered, PlanKey, Plans};
use crate::queue::error::{QueueError, Result};

/// Plans in memory.
#[derive(Debug, Default)]
pub struct MemoryPlans(Mutex<HashMap<PlanKey, Kept>>);

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
            let kept = plans.entry(key.clone()).or_insert_with(|| Kept::new(plan, held));
            Ok(kept.status())
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
            kept.ok_or_else(|| QueueError::UnknownPlan(key.agent.clone()))?.decide(answered)
        })
    }

    fn forget<'a>(&'a self, key: &'a PlanKey) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.plans().remove(key);
            Ok(())
        })
    }
}
