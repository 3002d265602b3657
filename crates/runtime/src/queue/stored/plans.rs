//! Plans that wait, in the store.

use std::sync::Arc;

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::dispatch::plan::{Plan, PlanEffect, PlanStatus};
use ostler_store::{HeldKind, HeldMessage, StoreError};

use super::{Stored, unreadable};
use crate::queue::error::{QueueError, Result};
use crate::queue::plans::{Answered, Kept, PlanKey, Plans};

/// How often an answer is tried that meets others; each time one of them got
/// through.
const ATTEMPTS: u32 = 20;

impl Stored {
    /// Answers a plan as it was read; nothing, if somebody was faster.
    async fn try_answer(
        &self,
        key: &PlanKey,
        answered: Answered,
    ) -> Result<Option<(PlanEffect, Arc<Envelope>)>> {
        let there = self.there();
        let held = there.held_message(HeldKind::Plan, &key.agent, key.message).await?;
        let held = held.ok_or_else(|| QueueError::UnknownPlan(key.agent.clone()))?;
        let mut kept = read(&held)?;
        let effect = kept.decide(answered)?;
        let changed = HeldMessage { data: written(&kept)?, ..held };
        let first = there.change_held_message(HeldKind::Plan, &key.agent, changed).await?;
        Ok(first.then_some(effect))
    }
}

impl Plans for Stored {
    fn hold<'a>(
        &'a self,
        key: &'a PlanKey,
        plan: Plan,
        held: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<PlanStatus>> {
        Box::pin(async move {
            let data = written(&Kept::new(plan, held))?;
            let there = self.there();
            let held = there.hold_message(HeldKind::Plan, &key.agent, key.message, data).await?;
            Ok(read(&held)?.status())
        })
    }

    fn answer<'a>(
        &'a self,
        key: &'a PlanKey,
        answered: Answered,
    ) -> BoxFuture<'a, Result<(PlanEffect, Arc<Envelope>)>> {
        Box::pin(async move {
            for _ in 0..ATTEMPTS {
                if let Some(effect) = self.try_answer(key, answered.clone()).await? {
                    return Ok(effect);
                }
            }
            Err(StoreError::Busy.into())
        })
    }

    fn forget<'a>(&'a self, key: &'a PlanKey) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let there = self.there();
            there.take_held_message(HeldKind::Plan, &key.agent, key.message).await?;
            Ok(())
        })
    }
}

fn written(kept: &Kept) -> Result<String> {
    serde_json::to_string(kept).map_err(unreadable)
}

fn read(held: &HeldMessage) -> Result<Kept> {
    serde_json::from_str(&held.data).map_err(unreadable)
}
