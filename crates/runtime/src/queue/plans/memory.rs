//! The plans of one process; they are gone with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::dispatch::plan::{Plan, PlanEffect};

use super::{Answered, PlanKey, Plans};
use crate::queue::error::{QueueError, Result};

/// Plans in memory.
#[derive(Debug, Default)]
pub struct MemoryPlans(Mutex<HashMap<PlanKey, (Plan, Arc<Envelope>)>>);

impl MemoryPlans {
    fn take(&self, key: &PlanKey, answered: Answered) -> Result<(PlanEffect, Arc<Envelope>)> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = || QueueError::UnknownPlan(key.agent.clone());
        let (plan, held) = waiting.get_mut(key).ok_or_else(unknown)?;
        let effect = plan.answer(&answered.by, answered.reference, answered.answer)?;
        let held = Arc::clone(held);
        waiting.remove(key);
        Ok((effect, held))
    }
}

impl Plans for MemoryPlans {
    fn hold<'a>(
        &'a self,
        key: &'a PlanKey,
        plan: Plan,
        held: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.entry(key.clone()).or_insert((plan, held));
            Ok(())
        })
    }

    fn answer<'a>(
        &'a self,
        key: &'a PlanKey,
        answered: Answered,
    ) -> BoxFuture<'a, Result<(PlanEffect, Arc<Envelope>)>> {
        Box::pin(async move { self.take(key, answered) })
    }
}
