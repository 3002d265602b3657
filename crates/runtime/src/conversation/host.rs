//! Stores checkpoints and outcomes, streams the draft, and reserves credits for the turn of
//! a conversation.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_domain::id::CallId;
use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_engine::driver::{Host, Intent};
use ostler_engine::history;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::turn::{AgentPath, STATE_VERSION, Turn, TurnEvent};
use ostler_store::{Checkpoint, RetrySafety, StoreError};

use super::checkpoint::{ExternalCall, OpenTurn, RunProgress, TurnCheckpointRef};
use super::refusals::refused_to_colleague;
use super::run_context::RunContext;
use super::steps::turn::DraftVisibility;
use crate::assembly::credits::top_up;
use crate::deltas::{Delta, DeltaContent, DraftStream};
use crate::ids::derived;
use crate::records::encode;
use crate::records::session::Session;

/// The engine's host of one turn.
pub(crate) struct TurnHost<'a, 'd> {
    context: &'a RunContext<'d>,
    session: &'a Session,
    progress: RunProgress<'a>,
    open_turn: Mutex<OpenTurn>,
    /// The draft that followers see; `None` for a hidden turn.
    draft: Option<DraftStream>,
}

impl<'a, 'd> TurnHost<'a, 'd> {
    pub(crate) fn new(
        context: &'a RunContext<'d>,
        session: &'a Session,
        progress: RunProgress<'a>,
        open: OpenTurn,
        visibility: DraftVisibility,
    ) -> Self {
        let draft = (visibility == DraftVisibility::Public).then(|| {
            context.services.deps.deltas.begin(Delta {
                org: context.org(),
                conversation: context.lease.conversation(),
                session: session.id,
                run: context.run_id,
                agent: open.agent,
                attempt: context.attempt.saturating_sub(1),
                content: DeltaContent::EMPTY,
            })
        });
        Self { context, session, progress, open_turn: Mutex::new(open), draft }
    }

    fn open_turn(&self) -> MutexGuard<'_, OpenTurn> {
        self.open_turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the turn with its calls and reserved credits.
    pub(crate) fn into_open_turn(self) -> OpenTurn {
        self.open_turn.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the store's id of a call, the same for every attempt.
    fn call_id(&self, key: &str) -> CallId {
        derived(CallId::from_u128, self.context.run_id.as_u128(), key)
    }
}

impl Host for TurnHost<'_, '_> {
    type Error = StoreError;

    async fn checkpoint(&self, turn: &Turn, intents: &[Intent]) -> Result<(), StoreError> {
        let timeout = intents.iter().map(|intent| intent.timeout).max().unwrap_or_default();
        let stored: Vec<ostler_store::StoredIntent> = intents
            .iter()
            .map(|intent| ostler_store::StoredIntent {
                call: self.call_id(&intent.idempotency_key),
                tool: intent.call.name.clone(),
                key: intent.idempotency_key.clone(),
                arguments: intent.call.arguments.to_string(),
                retry_safety: if intent.idempotent {
                    RetrySafety::Idempotent
                } else {
                    RetrySafety::Unsafe
                },
            })
            .collect();
        let state = {
            let mut open = self.open_turn();
            for (intent, stored) in intents.iter().zip(&stored) {
                let (path, call) = (intent.path.clone(), intent.call.id.clone());
                open.calls.push(ExternalCall { path, call, id: stored.call });
            }
            let (session, progress) = (self.session, self.progress);
            encode(&TurnCheckpointRef { session, progress, open_turn: &open, turn })
        };
        let checkpoint = Checkpoint { run: self.context.run_id, version: STATE_VERSION, state };
        let store = &self.context.services.deps.store;
        let timeout = timeout + Duration::from_secs(1);
        crate::faults::point("before_checkpoint");
        self.context.has_checkpoint.store(true, Ordering::Relaxed);
        store.checkpoint_turn(self.context.lease, checkpoint, stored, timeout).await?;
        crate::faults::point("after_checkpoint");
        Ok(())
    }

    async fn store_outcome(
        &self,
        path: &AgentPath,
        call: &history::CallId,
        outcome: &ToolOutcome,
    ) -> Result<(), StoreError> {
        crate::faults::point("after_tool");
        let id = {
            let open = self.open_turn();
            let known = open.calls.iter().rev();
            let mut known = known.filter(|one| one.path == *path && one.call == *call);
            known.next().map(|one| one.id)
        };
        let Some(id) = id else { return Ok(()) };
        let stored = match outcome.status {
            OutcomeStatus::OutcomeUnknown => {
                ostler_store::CallOutcome::Unknown(outcome.content.clone())
            }
            _ => ostler_store::CallOutcome::Known(encode(outcome)),
        };
        let store = &self.context.services.deps.store;
        match store.record_outcome(self.context.lease, id, stored).await? {
            ostler_store::LeaseStatus::Held => Ok(()),
            ostler_store::LeaseStatus::Lost => Err(StoreError::StaleLease),
        }
    }

    async fn top_up(&self, more: Credits) -> Credits {
        let (payer, reservation, held) = {
            let open = self.open_turn();
            (open.payer, open.reservation, open.held)
        };
        let added = top_up(&self.context.services.deps, payer, reservation, held, more).await;
        self.open_turn().held = held + added;
        added
    }

    fn on_event(&self, path: &AgentPath, event: &TurnEvent) {
        if let TurnEvent::SubagentEnded { agent_type, messages, .. } = event {
            let refused = refused_to_colleague(agent_type, messages, self.session.audience());
            self.open_turn().colleague_refusals.extend(refused);
        }
        // The text of an agent inside the turn is not meant for the customer.
        let Some(draft) = self.draft.as_ref().filter(|_| path.is_empty()) else { return };
        match event {
            TurnEvent::Text { text } => draft.append(text),
            TurnEvent::DraftDiscarded => draft.discard(),
            TurnEvent::Decided(record) => draft.announce_call(&record.tool),
            _ => {}
        }
    }

    fn now(&self) -> Timestamp {
        self.context.services.deps.clock.now()
    }
}
