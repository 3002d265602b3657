//! Who stores, shows and reserves for a turn in a conversation.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_domain::id::CallId;
use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_engine::driver::{Host, Intent};
use ostler_engine::history;
use ostler_engine::outcome::{Outcome, Status};
use ostler_engine::turn::{Event, Path, STATE_VERSION, Turn};
use ostler_store::{Checkpoint, Repeat, StoreError};

use super::case::Case;
use super::saved::{Open, Outside, Saving, SoFar};
use super::step_07b_credits::top_up;
use super::step_08_turn::Shown;
use crate::deltas::{Delta, Piece, Writing};
use crate::ids::derived;
use crate::talk::session::Session;
use crate::talk::write;

/// Who stores, shows and reserves for one turn.
pub(super) struct TurnHost<'a, 'd> {
    case: &'a Case<'d>,
    session: &'a Session,
    so_far: SoFar<'a>,
    open: Mutex<Open>,
    /// What is shown of it; nothing of a turn that is nobody's to read.
    writing: Option<Writing>,
}

impl<'a, 'd> TurnHost<'a, 'd> {
    pub(super) fn new(
        case: &'a Case<'d>,
        session: &'a Session,
        so_far: SoFar<'a>,
        open: Open,
        shown: Shown,
    ) -> Self {
        let writing = (shown == Shown::ToAll).then(|| {
            case.desk.parts.deltas.begin(Delta {
                org: case.org(),
                conversation: case.lease.conversation(),
                session: session.id,
                run: case.run,
                agent: open.agent,
                attempt: case.attempt.saturating_sub(1),
                piece: Piece::NOTHING,
            })
        });
        Self { case, session, so_far, open: Mutex::new(open), writing }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is held for the turn in the end.
    pub(super) fn into_open(self) -> Open {
        self.open.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Under which id a call is written down: the same for every try.
    fn id_of(&self, key: &str) -> CallId {
        derived(CallId::from_u128, self.case.run.as_u128(), key)
    }
}

impl Host for TurnHost<'_, '_> {
    type Error = StoreError;

    async fn checkpoint(&self, turn: &Turn, intents: &[Intent]) -> Result<(), StoreError> {
        let timeout = intents.iter().map(|intent| intent.timeout).max().unwrap_or_default();
        let stored: Vec<ostler_store::Intent> = intents
            .iter()
            .map(|intent| ostler_store::Intent {
                call: self.id_of(&intent.key),
                tool: intent.call.name.clone(),
                key: intent.key.clone(),
                arguments: intent.call.arguments.to_string(),
                repeat: if intent.idempotent { Repeat::Idempotent } else { Repeat::Never },
            })
            .collect();
        let state = {
            let mut open = self.open();
            for (intent, stored) in intents.iter().zip(&stored) {
                let (path, call) = (intent.path.clone(), intent.call.id.clone());
                open.calls.push(Outside { path, call, id: stored.call });
            }
            let (session, so_far) = (self.session, self.so_far);
            write(&Saving { session, so_far, open: &open, turn })
        };
        let checkpoint = Checkpoint { run: self.case.run, version: STATE_VERSION, state };
        let store = &self.case.desk.parts.store;
        let timeout = timeout + Duration::from_secs(1);
        crate::faults::point("before_checkpoint");
        store.checkpoint_turn(self.case.lease, checkpoint, stored, timeout).await?;
        crate::faults::point("after_checkpoint");
        Ok(())
    }

    async fn outcome(
        &self,
        path: &Path,
        call: &history::CallId,
        outcome: &Outcome,
    ) -> Result<(), StoreError> {
        crate::faults::point("after_tool");
        let id = {
            let open = self.open();
            let known = open.calls.iter().rev();
            let mut known = known.filter(|one| one.path == *path && one.call == *call);
            known.next().map(|one| one.id)
        };
        let Some(id) = id else { return Ok(()) };
        let what = match outcome.status {
            Status::OutcomeUnknown => ostler_store::Outcome::Unknown(outcome.content.clone()),
            _ => ostler_store::Outcome::Known(write(outcome)),
        };
        let store = &self.case.desk.parts.store;
        match store.record_outcome(self.case.lease, id, what).await? {
            ostler_store::Recorded::Held => Ok(()),
            ostler_store::Recorded::Late => Err(StoreError::StaleLease),
        }
    }

    async fn top_up(&self, more: Credits) -> Credits {
        let (payer, reservation, held) = {
            let open = self.open();
            (open.payer, open.reservation, open.held)
        };
        let added = top_up(&self.case.desk.parts, payer, reservation, held, more).await;
        self.open().held = held + added;
        added
    }

    fn event(&self, path: &Path, event: &Event) {
        // What an agent inside the turn says is not for the customer.
        let Some(writing) = self.writing.as_ref().filter(|_| path.is_empty()) else { return };
        match event {
            Event::Text { text } => writing.add(text),
            Event::DraftDiscarded => writing.discard(),
            Event::Decided(judgement) => writing.calling(&judgement.tool),
            _ => {}
        }
    }

    fn now(&self) -> Timestamp {
        self.case.desk.parts.clock.now()
    }
}
