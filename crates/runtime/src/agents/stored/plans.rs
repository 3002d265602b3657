//! Plans in the store.

use std::sync::Arc;

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::queue_agent::plan::{AgentPlan, PlanEffect, PlanStatus};
use ostler_store::{HeldMessage, HeldMessageKind, NewAuditEntry, StoreError};

use super::{StoredRecords, invalid_json, to_u32};
use crate::agents::error::{QueueError, Result};
use crate::agents::plans::{PlanKey, Plans, ReceivedPlanAnswer, StoredPlan, WaitingPlan};

/// How often a concurrent answer is retried; with each conflict another answer
/// has succeeded.
const ATTEMPTS: u32 = 20;

impl StoredRecords {
    /// Applies a person's answer to a plan together with its audit entry, and returns the
    /// effect and the held message.
    pub(crate) async fn decide_plan(
        &self,
        key: &PlanKey,
        answered: ReceivedPlanAnswer,
        audit: NewAuditEntry,
    ) -> Result<(PlanEffect, Arc<Envelope>)> {
        let there = self.org_store();
        let held = there.held_message(HeldMessageKind::Plan, &key.agent, key.message).await?;
        let held = held.ok_or_else(|| QueueError::UnknownPlan(key.agent.clone()))?;
        let mut stored_plan = decode(&held)?;
        let effect = stored_plan.decide(answered)?;
        let changed = HeldMessage { data: encode(&stored_plan)?, ..held };
        let write = there.audited(audit);
        write.update_held_message(HeldMessageKind::Plan, key.agent.clone(), changed).await?;
        Ok(effect)
    }

    /// Applies an answer to the current plan. Returns `None` if another answer
    /// was faster.
    async fn try_answer(
        &self,
        key: &PlanKey,
        answered: ReceivedPlanAnswer,
    ) -> Result<Option<(PlanEffect, Arc<Envelope>)>> {
        let there = self.org_store();
        let held = there.held_message(HeldMessageKind::Plan, &key.agent, key.message).await?;
        let held = held.ok_or_else(|| QueueError::UnknownPlan(key.agent.clone()))?;
        let mut stored_plan = decode(&held)?;
        let effect = stored_plan.decide(answered)?;
        let changed = HeldMessage { data: encode(&stored_plan)?, ..held };
        let first = there.update_held_message(HeldMessageKind::Plan, &key.agent, changed).await?;
        Ok(first.then_some(effect))
    }
}

impl Plans for StoredRecords {
    fn hold<'a>(
        &'a self,
        key: &'a PlanKey,
        plan: AgentPlan,
        held: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<PlanStatus>> {
        Box::pin(async move {
            let data = encode(&StoredPlan::new(plan, held))?;
            let there = self.org_store();
            let held =
                there.hold_message(HeldMessageKind::Plan, &key.agent, key.message, data).await?;
            Ok(decode(&held)?.status())
        })
    }

    fn answer<'a>(
        &'a self,
        key: &'a PlanKey,
        answered: ReceivedPlanAnswer,
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

    fn waiting(&self, limit: usize) -> BoxFuture<'_, Result<Vec<WaitingPlan>>> {
        Box::pin(async move {
            let held = self.org_store().all_held_messages(HeldMessageKind::Plan, to_u32(limit));
            let held = held.await?;
            let all = held.iter().map(|(_, one)| decode(one)).collect::<Result<Vec<_>>>()?;
            Ok(all.iter().filter_map(StoredPlan::waiting).collect())
        })
    }

    fn forget<'a>(&'a self, key: &'a PlanKey) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let there = self.org_store();
            there.take_held_message(HeldMessageKind::Plan, &key.agent, key.message).await?;
            Ok(())
        })
    }
}

fn encode(stored_plan: &StoredPlan) -> Result<String> {
    serde_json::to_string(stored_plan).map_err(invalid_json)
}

fn decode(held: &HeldMessage) -> Result<StoredPlan> {
    serde_json::from_str(&held.data).map_err(invalid_json)
}
