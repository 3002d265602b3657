//! Plans in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::queue_agent::plan::{AgentPlan, PlanEffect, PlanStatus};

use super::stored_plan::StoredPlan;
use super::{PlanKey, Plans, ReceivedPlanAnswer, WaitingPlan};
use crate::agents::error::{QueueError, Result};

/// Plans in memory, lost when the process ends.
#[derive(Debug, Default)]
pub struct MemoryPlans(Mutex<HashMap<PlanKey, StoredPlan>>);

impl MemoryPlans {
    fn plans(&self) -> MutexGuard<'_, HashMap<PlanKey, StoredPlan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plans for MemoryPlans {
    fn hold<'a>(
        &'a self,
        key: &'a PlanKey,
        plan: AgentPlan,
        held: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<PlanStatus>> {
        Box::pin(async move {
            let mut plans = self.plans();
            let stored_plan =
                plans.entry(key.clone()).or_insert_with(|| StoredPlan::new(plan, held));
            Ok(stored_plan.status())
        })
    }

    fn answer<'a>(
        &'a self,
        key: &'a PlanKey,
        answered: ReceivedPlanAnswer,
    ) -> BoxFuture<'a, Result<(PlanEffect, Arc<Envelope>)>> {
        Box::pin(async move {
            let mut plans = self.plans();
            let stored_plan = plans.get_mut(key);
            stored_plan.ok_or_else(|| QueueError::UnknownPlan(key.agent.clone()))?.decide(answered)
        })
    }

    fn waiting(&self, limit: usize) -> BoxFuture<'_, Result<Vec<WaitingPlan>>> {
        Box::pin(async move {
            let mut all: Vec<_> = self.plans().values().filter_map(StoredPlan::waiting).collect();
            all.sort_by_key(|one| one.key.message);
            all.truncate(limit);
            Ok(all)
        })
    }

    fn forget<'a>(&'a self, key: &'a PlanKey) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.plans().remove(key);
            Ok(())
        })
    }
}
