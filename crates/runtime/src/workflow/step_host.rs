//! The engine host for the turn of a step: checkpoints and credit reservations.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_engine::driver::{Host, Intent};
use ostler_engine::history::CallId;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::turn::{AgentPath, Turn, TurnEvent};
use ostler_store::{StoreError, WorkflowLease};

use super::checkpoint::{ExternalCall, StepCheckpoint};
use crate::assembly::credits::{TurnFunds, top_up};
use crate::deps::Deps;
use crate::records::encode;

/// How much longer than a call the lease lasts, to record the outcome.
const RECORD_MARGIN: Duration = Duration::from_secs(2);

/// The engine host for the turn of a step.
pub(super) struct StepHost<'a> {
    deps: &'a Deps,
    lease: WorkflowLease,
    task: String,
    /// Keys of the answers that the turn uses.
    consumed_answers: Vec<String>,
    checkpoint: Mutex<StepCheckpoint>,
    funds: Mutex<TurnFunds>,
}

impl<'a> StepHost<'a> {
    pub(super) const fn new(
        deps: &'a Deps,
        lease: WorkflowLease,
        task: String,
        consumed_answers: Vec<String>,
        checkpoint: StepCheckpoint,
        funds: TurnFunds,
    ) -> Self {
        Self {
            deps,
            lease,
            task,
            consumed_answers,
            checkpoint: Mutex::new(checkpoint),
            funds: Mutex::new(funds),
        }
    }

    fn checkpoint(&self) -> MutexGuard<'_, StepCheckpoint> {
        self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the final checkpoint and funds.
    pub(super) fn into_parts(self) -> (StepCheckpoint, TurnFunds) {
        let checkpoint = self.checkpoint.into_inner().unwrap_or_else(PoisonError::into_inner);
        (checkpoint, self.funds.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    async fn store(&self, ttl: Duration) -> Result<(), StoreError> {
        let text = encode(&*self.checkpoint());
        let Self { deps, lease, task, consumed_answers, .. } = self;
        let ttl = (ttl + RECORD_MARGIN).max(deps.settings.claims.lease);
        deps.store.checkpoint_workflow_task(*lease, task, text, consumed_answers, ttl).await
    }
}

impl Host for StepHost<'_> {
    type Error = StoreError;

    async fn checkpoint(&self, turn: &Turn, intents: &[Intent]) -> Result<(), StoreError> {
        let unreadable = |error: ostler_engine::turn::LoadError| StoreError::CorruptValue {
            what: "turn",
            why: error.to_string(),
        };
        let text = turn.store().map_err(unreadable)?;
        {
            let mut checkpoint = self.checkpoint();
            checkpoint.turn = Some(text);
            checkpoint.questions.clear();
            for Intent { path, call, .. } in intents {
                let (path, call) = (path.clone(), call.id.clone());
                checkpoint
                    .calls
                    .retain(|call_entry| call_entry.path != path || call_entry.call != call);
                checkpoint.calls.push(ExternalCall { path, call, outcome: None });
            }
        }
        let timeout = intents.iter().map(|intent| intent.timeout).max().unwrap_or_default();
        crate::faults::point("before_step_checkpoint");
        self.store(timeout).await?;
        crate::faults::point("after_step_checkpoint");
        Ok(())
    }

    async fn store_outcome(
        &self,
        path: &AgentPath,
        call: &CallId,
        outcome: &ToolOutcome,
    ) -> Result<(), StoreError> {
        crate::faults::point("after_step_tool");
        {
            let mut checkpoint = self.checkpoint();
            let mut calls = checkpoint.calls.iter_mut();
            let Some(call_entry) =
                calls.find(|call_entry| call_entry.path == *path && call_entry.call == *call)
            else {
                return Ok(());
            };
            // An unknown outcome stays open; the turn reports it.
            if outcome.status != OutcomeStatus::OutcomeUnknown {
                call_entry.outcome = Some(outcome.clone());
            }
        }
        self.store(Duration::ZERO).await
    }

    async fn top_up(&self, more: Credits) -> Credits {
        let TurnFunds { payer, reservation, held, .. } =
            *self.funds.lock().unwrap_or_else(PoisonError::into_inner);
        let added = top_up(self.deps, payer, reservation, held, more).await;
        self.funds.lock().unwrap_or_else(PoisonError::into_inner).held = held + added;
        added
    }

    /// Steps have no live events; their record is stored.
    fn on_event(&self, _: &AgentPath, _: &TurnEvent) {}

    fn now(&self) -> Timestamp {
        self.deps.clock.now()
    }
}
