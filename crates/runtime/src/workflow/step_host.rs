//! Who stores and reserves for the turn of a task.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_engine::driver::{Host, Intent};
use ostler_engine::history::CallId;
use ostler_engine::outcome::{Outcome, Status};
use ostler_engine::turn::{Event, Path, Turn};
use ostler_store::{StoreError, WorkflowLease};

use super::saved::{Outside, Saved};
use crate::inbound::step_07b_credits::{Purse, top_up};
use crate::parts::Parts;
use crate::talk::write;

/// How much longer than a call the workflow is kept: enough to record its outcome.
const TO_RECORD: Duration = Duration::from_secs(2);

/// Who stores and reserves for the turn of a task.
pub(super) struct StepHost<'a> {
    parts: &'a Parts,
    lease: WorkflowLease,
    task: String,
    /// Answers that the turn goes on with.
    taken: Vec<String>,
    saved: Mutex<Saved>,
    purse: Mutex<Purse>,
}

impl<'a> StepHost<'a> {
    pub(super) const fn new(
        parts: &'a Parts,
        lease: WorkflowLease,
        task: String,
        taken: Vec<String>,
        saved: Saved,
        purse: Purse,
    ) -> Self {
        Self { parts, lease, task, taken, saved: Mutex::new(saved), purse: Mutex::new(purse) }
    }

    fn saved(&self) -> MutexGuard<'_, Saved> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is stored and held in the end.
    pub(super) fn into_parts(self) -> (Saved, Purse) {
        let saved = self.saved.into_inner().unwrap_or_else(PoisonError::into_inner);
        (saved, self.purse.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    async fn store(&self, lasts: Duration) -> Result<(), StoreError> {
        let text = write(&*self.saved());
        let Self { parts, lease, task, taken, .. } = self;
        let lasts = (lasts + TO_RECORD).max(parts.settings.claims.lease);
        parts.store.save_workflow_task(*lease, task, text, taken, lasts).await
    }
}

impl Host for StepHost<'_> {
    type Error = StoreError;

    async fn checkpoint(&self, turn: &Turn, intents: &[Intent]) -> Result<(), StoreError> {
        let unreadable = |error: ostler_engine::turn::LoadError| StoreError::Unreadable {
            what: "turn",
            why: error.to_string(),
        };
        let text = turn.store().map_err(unreadable)?;
        {
            let mut saved = self.saved();
            saved.turn = Some(text);
            saved.questions.clear();
            for Intent { path, call, .. } in intents {
                let (path, call) = (path.clone(), call.id.clone());
                saved.calls.retain(|one| one.path != path || one.call != call);
                saved.calls.push(Outside { path, call, outcome: None });
            }
        }
        let timeout = intents.iter().map(|intent| intent.timeout).max().unwrap_or_default();
        crate::faults::point("before_step_checkpoint");
        self.store(timeout).await?;
        crate::faults::point("after_step_checkpoint");
        Ok(())
    }

    async fn outcome(
        &self,
        path: &Path,
        call: &CallId,
        outcome: &Outcome,
    ) -> Result<(), StoreError> {
        crate::faults::point("after_step_tool");
        {
            let mut saved = self.saved();
            let mut calls = saved.calls.iter_mut();
            let Some(one) = calls.find(|one| one.path == *path && one.call == *call) else {
                return Ok(());
            };
            // What nobody knows stays open: the turn says so by itself.
            if outcome.status != Status::OutcomeUnknown {
                one.outcome = Some(outcome.clone());
            }
        }
        self.store(Duration::ZERO).await
    }

    async fn top_up(&self, more: Credits) -> Credits {
        let Purse { payer, reservation, held, .. } =
            *self.purse.lock().unwrap_or_else(PoisonError::into_inner);
        let added = top_up(self.parts, payer, reservation, held, more).await;
        self.purse.lock().unwrap_or_else(PoisonError::into_inner).held = held + added;
        added
    }

    /// Nobody reads along: what is known of a step is its record.
    fn event(&self, _: &Path, _: &Event) {}

    fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }
}
