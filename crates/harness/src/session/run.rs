//! The task of a turn: drives it, waits for answers, stores its end, and continues with
//! the queue.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use ostler_domain::gate::GateRules;
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Charge, Expense};
use ostler_domain::session::errors::ErrorPolicy;
use ostler_engine::driver::{Driver, TurnCommands, TurnContext, TurnProgress};
use ostler_engine::history::Content;
use ostler_engine::turn::{EndReason, KnownOutcomes, Turn, TurnEnd, TurnRules};
use ostler_store::{ThreadCommit, TurnCharges};
use tokio::sync::{Notify, watch};

use super::host::TurnHost;
use super::{
    Assembled, Core, OpenThread, QueuedMessage, Session, TurnOutcome, TurnStatus, json, lost,
};
use crate::clock;
use crate::error::HarnessError;
use crate::event::{AskEvent, EventDetails, HeldEvent, OmEvent, SessionEvent, TurnLifeEvent};
use crate::memory::MemoryEvent;
use crate::message::{MessageOrigin, StoredItem};
use crate::state::CURRENT_MODEL;

/// What the agent reads when its plan was approved.
const CARRY_OUT_PLAN: &str = "The plan was approved. Carry it out now.";

/// The task of one turn.
pub(super) struct TurnTask {
    pub(super) host: TurnHost,
    pub(super) context: TurnContext,
    pub(super) assembled: Assembled,
    pub(super) commands: TurnCommands,
    pub(super) answered: Arc<Notify>,
    pub(super) waits: Arc<AtomicBool>,
    pub(super) first_seq: i64,
    pub(super) done: watch::Sender<Option<TurnOutcome>>,
}

impl TurnTask {
    pub(super) async fn run(mut self, mut turn: Box<Turn>, mut known: KnownOutcomes) {
        let core = self.host.core.clone();
        if !turn.questions().is_empty() {
            // This process does not know the questions of a stored turn yet.
            self.host.publish_asks_again();
        }
        if !known.is_empty() || turn.account().steps > 0 {
            self.renew_reservation().await;
        }
        let failure = loop {
            let no_tools = BTreeSet::new();
            let rules = TurnRules {
                scope: &self.assembled.scope,
                tools: &self.assembled.tools,
                require_approval_for: &no_tools,
                authority: GateRules::Interactive(&*core.permissions),
                errors: ErrorPolicy::default(),
                models: &*core.current_model,
                now: clock::now(),
            };
            let driver = Driver { context: &self.context, rules, host: &self.host };
            let driving = driver.drive(&mut turn, &known, &mut self.commands);
            // Callers wait for the end of the turn, so a model that panics must not hide it.
            match AssertUnwindSafe(driving).catch_unwind().await {
                Ok(Ok(TurnProgress::Ended(_))) => break None,
                Ok(Ok(TurnProgress::Suspended(_))) => {
                    known = KnownOutcomes::new();
                    self.waits.store(true, Ordering::Release);
                    self.answered.notified().await;
                    self.waits.store(false, Ordering::Release);
                    self.renew_reservation().await;
                }
                Ok(Err(error)) => break Some(error),
                Err(_) => break Some(HarnessError::TurnPanicked),
            }
        };
        self.finish(&core, *turn, failure).await;
    }

    /// Makes the credits of the turn last again after it has waited.
    async fn renew_reservation(&self) {
        if let Some(reservation) = &self.host.reservation {
            reservation.renew().await;
        }
    }

    /// Stores the end of the turn and starts the next one.
    async fn finish(self, core: &Arc<Core>, turn: Turn, failure: Option<HarnessError>) {
        self.host.end_partial();
        let mut session = core.session.lock().await;
        let outcome = self.store_end(core, &mut session, turn, failure).await;
        let next = after_turn(&mut session, outcome.reason);
        if next && let Err(error) = core.start_next(&mut session).await {
            let thread = session.thread.as_ref().map(|thread| thread.info.id);
            let error = error.to_string();
            core.publish(thread, SessionEvent::Error { error, retryable: Some(true) });
        }
        drop(session);
        let _ = self.done.send(Some(outcome));
    }

    /// Stores the end of the turn and reports it.
    async fn store_end(
        &self,
        core: &Core,
        session: &mut Session,
        turn: Turn,
        failure: Option<HarnessError>,
    ) -> TurnOutcome {
        let end = turn.end().cloned().unwrap_or(TurnEnd::Aborted);
        self.close_asks(core);
        let stored = match failure {
            Some(failure) => Err(failure),
            None => self.commit_end(core, session, turn, &end).await,
        };
        let reason = match stored {
            Ok(held) => {
                held.into_iter().for_each(HeldEvent::publish);
                end.reason()
            }
            Err(error) => {
                // What is stored is the truth: opening the thread again reads it, and finds
                // the turn as it was stored last.
                session.thread = None;
                self.publish_error(core, error.to_string(), false);
                let ended = TurnLifeEvent::AgentEnd { reason: EndReason::Error };
                core.hub.publish(ended.into(), self.host.details(&Vec::new()));
                EndReason::Error
            }
        };
        TurnOutcome { turn: self.host.turn, reason, end }
    }

    /// Commits what the turn did. Returns its last event, which is not published yet.
    async fn commit_end(
        &self,
        core: &Core,
        session: &mut Session,
        turn: Turn,
        end: &TurnEnd,
    ) -> Result<Vec<HeldEvent>, HarnessError> {
        let thread = session.thread.as_mut().ok_or(HarnessError::NoThread)?;
        let mut change = ThreadCommit {
            ends_turn: true,
            subagent_runs: self.host.take_ended_subagents(),
            ..ThreadCommit::new(self.host.turn)
        };
        record(thread, &turn, self.first_seq, &mut change);
        let before = thread.info.metadata.credits_spent;
        let charged = thread.window.charge(&mut thread.info.metadata);
        let memory = thread.info.metadata.credits_spent.saturating_sub(before);
        change.charges = self.settle(turn.account().charges(), Credits::new(memory)).await;
        if end.reason() == EndReason::Complete {
            queue_approved_plan(core, thread);
        }
        change.metadata = Some(json(&thread.info.metadata));
        change.follow_ups = Some(json(&thread.follow_ups));
        if let Some((error, retryable)) = error_of(end) {
            self.publish_error(core, error, retryable);
        }
        let kept = change.memory.clone();
        let ended = TurnLifeEvent::AgentEnd { reason: end.reason() };
        let ended = vec![(ended.into(), self.host.details(&Vec::new()))];
        let ended = core.commit_with_events(thread.lease, change, ended).await.map_err(lost)?;
        let steps = u64::from(turn.account().steps);
        thread.window.stored(&kept);
        thread.window.give_back(turn.into_history(), 0);
        self.publish_memory_status(core, thread, steps);
        mark_memory_calls(core, thread, charged).await;
        Ok(ended)
    }

    fn publish_error(&self, core: &Core, error: String, retryable: bool) {
        let kind = SessionEvent::Error { error, retryable: Some(retryable) };
        core.hub.publish(kind.into(), self.host.details(&Vec::new()));
    }

    fn publish_memory_status(&self, core: &Core, thread: &OpenThread, steps: u64) {
        let Some(memory) = &thread.window.memory else { return };
        let (kind, more) = OmEvent::split(&MemoryEvent::Status(memory.status(steps)));
        let details = EventDetails { more, ..self.host.details(&Vec::new()) };
        core.hub.publish(kind.into(), details);
    }

    /// Returns what the ledger of the org is charged for the turn, with what the memory of
    /// the thread has spent.
    async fn settle(&self, mut charges: Vec<Charge>, memory: Credits) -> Option<TurnCharges> {
        let reservation = self.host.reservation.as_ref()?;
        if !memory.is_zero() {
            charges.push(Charge { expense: Expense::Model, amount: memory });
        }
        Some(reservation.settle(charges).await)
    }

    /// Reports that nobody can answer the questions of the turn any more.
    fn close_asks(&self, core: &Core) {
        let open = std::mem::take(&mut *self.host.asks());
        for (ask_id, open) in open {
            let details = self.host.details(&open.path);
            core.hub.publish(AskEvent::AskClosed { ask_id }.into(), details);
        }
    }
}

/// Adds what the turn did to the thread and to the commit.
fn record(thread: &mut OpenThread, turn: &Turn, first_seq: i64, change: &mut ThreadCommit) {
    let at = clock::now();
    let to_text = |item: &ostler_engine::history::Item| {
        json(&StoredItem { item: item.clone(), at, origin: MessageOrigin::Conversation })
    };
    change.messages = turn.new_items().iter().map(to_text).collect();
    change.first_seq = first_seq;
    let origin = MessageOrigin::Conversation;
    change.memory =
        thread.window.memory_messages(first_seq, turn.new_items(), origin, turn.trust());
    let count = i64::try_from(change.messages.len()).unwrap_or(i64::MAX);
    thread.next_seq = first_seq + count;
    thread.info.message_count += count;
    thread.trust = turn.trust();
    let account = turn.account();
    thread.errors = account.errors.clone();
    let metadata = &mut thread.info.metadata;
    metadata.token_usage.add(account.usage);
    let credits: u64 = account.charges().iter().map(|charge| charge.amount.get()).sum();
    metadata.credits_spent = metadata.credits_spent.saturating_add(credits);
}

/// Queues the message that has an approved plan carried out in the default mode.
fn queue_approved_plan(core: &Core, thread: &mut OpenThread) {
    let approved = matches!(&thread.turn, TurnStatus::Running(running) if running.plan_approved);
    if approved {
        thread.follow_ups.push_front(QueuedMessage {
            content: vec![Content::text(CARRY_OUT_PLAN)],
            origin: MessageOrigin::Harness,
            is_typed: false,
        });
        let mode = core.config.default_mode().map(|mode| mode.id.clone());
        thread.info.metadata.current_mode_id = mode;
    }
}

/// Marks calls of the memory as charged. If that fails, the next process charges them again.
async fn mark_memory_calls(core: &Core, thread: &OpenThread, charged: Option<u64>) {
    let Some(task) = charged else { return };
    if let Err(error) = core.org().mark_memory_calls_charged(thread.info.id, task).await {
        tracing::warn!(%error, "calls of a memory were not marked as charged");
    }
}

/// Returns the error that a turn ended with, and whether trying again may help.
fn error_of(end: &TurnEnd) -> Option<(String, bool)> {
    match end {
        TurnEnd::Answer { .. } | TurnEnd::Aborted => None,
        TurnEnd::TimedOut => Some(("the turn took too long and was stopped".into(), true)),
        TurnEnd::StepLimit { limit } => {
            Some((format!("stopped after {limit} steps without an answer"), true))
        }
        TurnEnd::Loop { tool } => {
            Some((format!("stopped: the model called `{tool}` again and again"), true))
        }
        TurnEnd::CreditsExhausted(exceeded) => Some((exceeded.to_string(), false)),
        TurnEnd::ModelFailed(error) => Some((error.to_string(), error.kind.is_retryable())),
    }
}

/// Makes the thread idle. Returns whether the queue is continued.
fn after_turn(session: &mut Session, reason: EndReason) -> bool {
    let Some(thread) = session.thread.as_mut() else { return false };
    let ended = std::mem::replace(&mut thread.turn, TurnStatus::Idle);
    let TurnStatus::Running(running) = ended else { return false };
    let goes_on = reason == EndReason::Complete || running.continue_queue;
    goes_on && !running.hold && !thread.follow_ups.is_empty()
}

impl Core {
    /// Starts a turn for the next message of the queue. An approved plan changes the mode
    /// first.
    pub(crate) async fn start_next(
        self: &Arc<Self>,
        session: &mut Session,
    ) -> Result<Option<super::start::Outcome>, HarnessError> {
        self.apply_mode(session);
        let Some(thread) = session.thread.as_mut() else { return Ok(None) };
        let Some(next) = thread.follow_ups.pop_front() else { return Ok(None) };
        match self.start_turn(session, Some(next.clone())).await {
            Ok(outcome) => Ok(Some(outcome)),
            Err(error) => {
                if let Some(thread) = session.thread.as_mut() {
                    thread.follow_ups.push_front(next);
                }
                Err(error)
            }
        }
    }

    /// Changes to the mode that the thread has been given by an approved plan.
    fn apply_mode(&self, session: &mut Session) {
        let Some(thread) = session.thread.as_mut() else { return };
        let Some(mode) = thread.info.metadata.current_mode_id.clone() else { return };
        if mode == session.mode {
            return;
        }
        let previous = std::mem::replace(&mut session.mode, mode.clone());
        let model = self.current_model.get();
        thread.info.metadata.set_mode_model(&previous, model.as_deref());
        let stored = thread.info.metadata.mode_model(&mode).map(str::to_owned);
        let model = stored
            .or_else(|| self.config.mode(&mode).and_then(|mode| mode.default_model_id.clone()));
        thread.info.metadata.current_model_id.clone_from(&model);
        let id = thread.info.id;
        self.put_state(CURRENT_MODEL, model.clone().into());
        self.current_model.set(model);
        let changed = SessionEvent::ModeChanged { mode_id: mode, previous_mode_id: previous };
        self.publish(Some(id), changed);
    }
}
