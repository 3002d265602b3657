//! Workers: they claim conversations with pending inbox entries and answer them, one
//! conversation at a time each.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::FutureExt as _;
use ostler_domain::id::{InboxId, RunId};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::turn::KnownOutcomes;
use ostler_store::{
    CallOutcome, ClaimedConversation, Lease, LeaseAction, PendingMessage, ReleaseReason,
    StoreError, TurnStart,
};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::checkpoint::{RecoveredRun, TurnCheckpoint};
use super::claims::ClaimBatcher;
use super::decision::{self, Decision};
use super::input::Input;
use super::pipeline::answer;
use super::run_context::{ReceivedMessage, RunContext};
use super::trace::run_span;
use super::{housekeeping, informed};
use crate::assembly::Services;
use crate::assembly::erasures::forget_erased;
use crate::deps::Deps;
use crate::ids::derived;
use crate::inbox::Doorbell;
use crate::org_view::OrgViews;
use crate::outage_log::OutageLog;
use crate::records::entry::{InboxEntry, IncomingMessage};
use crate::records::{UnreadableRecord, decode};
use crate::run_error::RunError;
use crate::running_turns::RunningTurns;

/// How long a worker waits after the store failed.
const RETRY_AFTER_FAILURE: Duration = Duration::from_millis(500);

/// Answers conversations. Cheap to clone.
#[derive(Clone)]
pub struct Worker {
    services: Arc<Services>,
    claims: ClaimBatcher,
    outage: Arc<OutageLog>,
}

impl Worker {
    /// Creates a worker. `running_turns` is the value that the runtime's tools were created
    /// with.
    pub fn new(deps: Deps, running_turns: RunningTurns) -> Self {
        let claims = ClaimBatcher::new(deps.store.clone(), deps.settings.claims);
        let services = Arc::new(Services::new(deps, running_turns));
        Self { services, claims, outage: Arc::default() }
    }

    /// Returns the bell that wakes this worker.
    pub fn bell(&self) -> &Doorbell {
        &self.services.bell
    }

    /// Returns the bell that this worker rings when there is something to send.
    pub fn outbox_bell(&self) -> &Doorbell {
        &self.services.outbox_bell
    }

    /// Returns the turns that are running in this process.
    pub fn running_turns(&self) -> &RunningTurns {
        &self.services.running_turns
    }

    /// Returns the cached configuration of the orgs.
    pub fn org_views(&self) -> &OrgViews {
        &self.services.org_views
    }

    /// Returns what the turns of this process share.
    pub fn services(&self) -> Arc<Services> {
        self.services.clone()
    }

    /// Returns what this worker was created with.
    pub fn deps(&self) -> &Deps {
        &self.services.deps
    }

    /// Answers up to `concurrency` conversations at once until it is stopped; then finishes
    /// those in progress.
    pub async fn run(&self, concurrency: usize, stop: watch::Receiver<bool>) {
        let mut tasks = JoinSet::new();
        for _ in 0..concurrency.max(1) {
            let (worker, stop) = (self.clone(), stop.clone());
            tasks.spawn(async move { worker.work(stop).await });
        }
        let services = self.services.clone();
        tasks.spawn(async move { forget_erased(&services, stop).await });
        while tasks.join_next().await.is_some() {}
    }

    async fn work(&self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            let rings = self.services.bell.local();
            let wait = match self.answer_next().await {
                Ok(answered) => {
                    if self.outage.record_success() {
                        tracing::warn!("conversations can be claimed again");
                    }
                    if answered {
                        continue;
                    }
                    self.services.deps.settings.poll_interval
                }
                Err(error) => {
                    if self.outage.record_failure() {
                        tracing::warn!(%error, "no conversation can be claimed, will retry");
                    }
                    RETRY_AFTER_FAILURE
                }
            };
            tokio::select! {
                () = rings.notified() => {}
                () = tokio::time::sleep(wait) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Answers one conversation with pending entries. Returns whether there was one.
    pub async fn answer_next(&self) -> Result<bool, StoreError> {
        let Some((claimed, start)) = self.claims.next().await? else { return Ok(false) };
        crate::faults::point("after_claim");
        let lease = claimed.lease;
        // A panic, in a tool for instance, ends one attempt and no worker.
        let answered = AssertUnwindSafe(self.answer_claimed(&claimed, start)).catch_unwind().await;
        if let Err(error) = answered.unwrap_or(Err(RunError::Panicked)) {
            self.release_failed(lease, &error).await;
        }
        Ok(true)
    }

    async fn release_failed(&self, lease: Lease, error: &RunError) {
        let conversation_id = lease.conversation();
        tracing::warn!(%conversation_id, %error, "message not answered");
        if matches!(error, RunError::Store(StoreError::StaleLease)) {
            return;
        }
        let deps = &self.services.deps;
        let reason = ReleaseReason::Failed { retry_after: deps.settings.retry_after };
        if let Err(error) = deps.store.release_lease(lease, reason).await {
            tracing::warn!(%conversation_id, %error, "lease not released, it will expire");
        }
    }

    /// Answers the pending entries of a conversation in order. Consecutive messages are
    /// answered together, every other entry by itself.
    async fn answer_claimed(
        &self,
        claimed: &ClaimedConversation,
        start: TurnStart,
    ) -> Result<(), RunError> {
        let mut rest = decode_entries(&claimed.messages)?;
        let mut start = Some(start);
        while !rest.is_empty() {
            let group = rest.iter().take_while(|(_, entry)| is_groupable(entry)).count().max(1);
            let left = rest.split_off(group);
            let group = std::mem::replace(&mut rest, left);
            let action = if rest.is_empty() { LeaseAction::Release } else { LeaseAction::Keep };
            // A run is a large future: on the heap it is not copied from call to call.
            Box::pin(self.answer_group(claimed, start.take(), group, action)).await?;
        }
        Ok(())
    }

    async fn answer_group(
        &self,
        claimed: &ClaimedConversation,
        start: Option<TurnStart>,
        group: Vec<(&PendingMessage, InboxEntry)>,
        lease_action: LeaseAction,
    ) -> Result<(), RunError> {
        let Some((first, _)) = group.first() else { return Ok(()) };
        let (store, lease) = (&self.services.deps.store, claimed.lease);
        let start = match start {
            Some(start) => start,
            None => store.turn_start(lease).await?,
        };
        let view = self.services.org_views.at(lease.org(), start.config_version).await?;
        let (id, attempt) = (first.id, first.attempts);
        let context = RunContext {
            services: &self.services,
            lease,
            key: &claimed.key,
            start,
            view,
            run_id: run_of(id),
            attempt,
            now: self.services.deps.clock.now(),
            has_checkpoint: AtomicBool::new(false),
        };
        let span = run_span(&context, group.first().map(|(_, entry)| entry));
        Box::pin(self.run_group(&context, group, lease_action)).instrument(span).await
    }

    async fn run_group(
        &self,
        context: &RunContext<'_>,
        group: Vec<(&PendingMessage, InboxEntry)>,
        lease_action: LeaseAction,
    ) -> Result<(), RunError> {
        let Some((first, _)) = group.first() else { return Ok(()) };
        let (id, attempt) = (first.id, context.attempt);
        let recovered = if attempt > 1 { Box::pin(self.recover(context)).await? } else { None };
        let mut group = group.into_iter();
        match group.next() {
            Some((_, InboxEntry::ApprovalDecided { approval, at_once })) => {
                let decision = Decision { entry: id, approval, at_once };
                Box::pin(decision::run(context, decision, recovered, lease_action)).await
            }
            Some((_, InboxEntry::ApprovalExpired { approval })) => {
                Box::pin(decision::report_expiry(context, id, approval, lease_action)).await
            }
            Some((_, InboxEntry::Continue { handled_triggers })) => {
                let note = "A colleague looked at this and leaves the answer to you.".to_owned();
                let input = Input::from_note(id, note, lease_action);
                let input = Input { handled_triggers: &handled_triggers, ..input };
                Box::pin(answer(context, input, recovered)).await
            }
            Some((_, InboxEntry::OutcomeResolved { call, outcome })) => {
                let news = format!("The outcome of {call} is known now: {outcome}");
                let input = Input::from_news(id, news, lease_action);
                Box::pin(answer(context, input, recovered)).await
            }
            Some((_, InboxEntry::RefundSettled { text, .. })) => {
                let input = Input::from_news(id, text, lease_action);
                Box::pin(answer(context, input, recovered)).await
            }
            Some((_, InboxEntry::AgentInformed { agent })) => {
                Box::pin(informed::run(context, id, agent, recovered, lease_action)).await
            }
            Some((_, InboxEntry::TeamAssigned { agents, by })) => {
                Box::pin(housekeeping::assign(context, id, &agents, by, lease_action)).await
            }
            Some((_, InboxEntry::Tick)) => {
                Box::pin(housekeeping::tick(context, id, lease_action)).await
            }
            Some((first, InboxEntry::Message(message))) => {
                let mut messages = vec![received_message(first, message)];
                messages.extend(group.filter_map(|(row, entry)| match entry {
                    InboxEntry::Message(message) => Some(received_message(row, message)),
                    _ => None,
                }));
                let input = Input::from_messages(&messages, lease_action);
                Box::pin(answer(context, input, recovered)).await
            }
            None => Ok(()),
        }
    }

    /// Loads the checkpoint of an earlier attempt of this run, if there is one.
    async fn recover(
        &self,
        context: &RunContext<'_>,
    ) -> Result<Option<Box<RecoveredRun>>, RunError> {
        let store = &self.services.deps.store;
        let Some(open) = store.open_checkpoint(context.lease).await? else { return Ok(None) };
        if open.checkpoint.run != context.run_id {
            store.discard_checkpoint(context.lease).await?;
            return Ok(None);
        }
        let checkpoint: TurnCheckpoint = decode("turn", &open.checkpoint.state)?;
        let mut known_outcomes = KnownOutcomes::new();
        for stored in &open.calls {
            let outcome = match &stored.outcome {
                Some(CallOutcome::Known(text)) => decode("outcome", text)?,
                Some(CallOutcome::Unknown(why)) => {
                    ToolOutcome::new(OutcomeStatus::OutcomeUnknown, why.clone())
                }
                None => continue,
            };
            let calls = &checkpoint.open_turn.calls;
            if let Some(call) = calls.iter().find(|call| call.id == stored.intent.call) {
                known_outcomes.insert((call.path.clone(), call.call.clone()), outcome);
            }
        }
        Ok(Some(Box::new(RecoveredRun { checkpoint, known_outcomes })))
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Worker")
    }
}

/// Returns the run that answers an entry, and those that are answered together with it. It is
/// the same for every attempt.
pub(crate) fn run_of(first: InboxId) -> RunId {
    derived(RunId::from_u128, first.as_u128(), "run")
}

/// Returns whether an entry is answered together with the messages next to it. A request
/// from the bus or over the API gets an answer of its own.
const fn is_groupable(entry: &InboxEntry) -> bool {
    matches!(
        entry,
        InboxEntry::Message(IncomingMessage { bus_request: None, api_request: None, .. })
    )
}

fn decode_entries(
    messages: &[PendingMessage],
) -> Result<Vec<(&PendingMessage, InboxEntry)>, UnreadableRecord> {
    messages.iter().map(|one| Ok((one, decode("message", &one.payload)?))).collect()
}

fn received_message(row: &PendingMessage, message: IncomingMessage) -> ReceivedMessage {
    ReceivedMessage { inbox_id: row.id, received_at: row.received_at, message }
}
