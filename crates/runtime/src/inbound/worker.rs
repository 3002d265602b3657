//! Workers: they take conversations in which something waits, one at a time.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use ostler_domain::id::RunId;
use ostler_engine::outcome::Outcome;
use ostler_engine::turn::Known;
use ostler_store::{AfterTurn, Beginning, Claimed, GiveBack, Lease, StoreError, Waiting};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::accept::Doorbell;
use super::answer::answer;
use super::case::{Arrived, Case, Desk};
use super::claims::Claims;
use super::input::Input;
use super::live::Live;
use super::saved::Saved;
use super::{decision, housekeeping};
use crate::ids::derived;
use crate::outage::Outage;
use crate::parts::Parts;
use crate::talk::entry::{Entry, Wrote};
use crate::talk::{Unreadable, read};

/// A turn that was begun and is gone on with.
pub(super) type Recovered = Box<(Saved, Known)>;

/// How long it waits after the store failed.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// Why a run came to nothing. What waits is tried again.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something stored cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Something panicked.
    #[error("the program broke down while answering; the log says where")]
    BrokeDown,
    /// What tools wanted stored cannot be any more.
    #[error("what the agent did cannot be stored any more: {0}")]
    Outdated(String),
}

/// Answers conversations. Cheap to clone.
#[derive(Clone)]
pub struct Worker {
    desk: Arc<Desk>,
    claims: Claims,
    bell: Doorbell,
    outage: Arc<Outage>,
}

impl Worker {
    /// A worker with these parts. `live` is what the tools of the runtime were
    /// made with.
    pub fn new(parts: Parts, live: Live) -> Self {
        let (views, library, threads) = Default::default();
        let claims = Claims::new(parts.store.clone(), parts.settings.claims);
        let desk = Desk { parts, views, library, threads, live, outbox: Doorbell::default() };
        let (bell, outage) = (Doorbell::default(), Arc::default());
        Self { desk: Arc::new(desk), claims, bell, outage }
    }

    /// The bell that wakes it.
    pub const fn bell(&self) -> &Doorbell {
        &self.bell
    }

    /// The bell that it rings when there is something to send.
    pub fn outbox_bell(&self) -> &Doorbell {
        &self.desk.outbox
    }

    /// The turns that are running.
    pub fn live(&self) -> &Live {
        &self.desk.live
    }

    /// What it shares with others of its process.
    pub(crate) fn desk(&self) -> Arc<Desk> {
        self.desk.clone()
    }

    /// What it was made with.
    pub fn parts(&self) -> &Parts {
        &self.desk.parts
    }

    /// Works in so many places at once until it is stopped; then finishes what
    /// it has begun.
    pub async fn run(&self, at_once: usize, stop: watch::Receiver<bool>) {
        let mut places = JoinSet::new();
        for _ in 0..at_once.max(1) {
            let (worker, stop) = (self.clone(), stop.clone());
            places.spawn(async move { worker.work(stop).await });
        }
        while places.join_next().await.is_some() {}
    }

    async fn work(&self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            let rings = self.bell.rings();
            let wait = match self.answer_next().await {
                Ok(answered) => {
                    if self.outage.ends() {
                        tracing::warn!("conversations can be claimed again");
                    }
                    if answered {
                        continue;
                    }
                    self.desk.parts.settings.look_every
                }
                Err(error) => {
                    if self.outage.begins() {
                        tracing::warn!(%error, "no conversation can be claimed; it is tried again");
                    }
                    AFTER_FAILURE
                }
            };
            tokio::select! {
                () = rings.notified() => {}
                () = tokio::time::sleep(wait) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Answers one conversation in which something waits; says whether there was
    /// one.
    pub async fn answer_next(&self) -> Result<bool, StoreError> {
        let Some((claimed, beginning)) = self.claims.next().await? else { return Ok(false) };
        crate::faults::point("after_claim");
        let lease = claimed.lease;
        // What breaks down, a tool for instance, breaks one try and no worker.
        let answering =
            AssertUnwindSafe(self.answer_claimed(&claimed, beginning)).catch_unwind().await;
        if let Err(error) = answering.unwrap_or(Err(RunError::BrokeDown)) {
            self.give_back(lease, &error).await;
        }
        Ok(true)
    }

    async fn give_back(&self, lease: Lease, error: &RunError) {
        tracing::warn!(%error, conversation = %lease.conversation(), "a message was not answered");
        if matches!(error, RunError::Store(StoreError::StaleLease)) {
            return;
        }
        let retry_after = self.desk.parts.settings.retry_after;
        let back = GiveBack::Failed { retry_after };
        if let Err(error) = self.desk.parts.store.release_lease(lease, back).await {
            tracing::warn!(%error, "a conversation could not be given back; its lease will end");
        }
    }

    /// Answers what waits in a conversation, in order: what was written together
    /// is answered together, everything else by itself.
    async fn answer_claimed(
        &self,
        claimed: &Claimed,
        beginning: Beginning,
    ) -> Result<(), RunError> {
        let mut rest = read_all(&claimed.messages)?;
        let mut beginning = Some(beginning);
        while !rest.is_empty() {
            let together = rest.iter().take_while(|(_, entry)| joins(entry)).count().max(1);
            let left = rest.split_off(together);
            let group = std::mem::replace(&mut rest, left);
            let then = if rest.is_empty() { AfterTurn::Release } else { AfterTurn::Keep };
            // A run is a large future: on the heap it is not copied from call to call.
            let begun = beginning.take();
            Box::pin(self.answer_group(claimed, begun, group, then)).await?;
        }
        Ok(())
    }

    async fn answer_group(
        &self,
        claimed: &Claimed,
        begun: Option<Beginning>,
        group: Vec<(&Waiting, Entry)>,
        then: AfterTurn,
    ) -> Result<(), RunError> {
        let Some((first, _)) = group.first() else { return Ok(()) };
        let (store, lease) = (&self.desk.parts.store, claimed.lease);
        let beginning = match begun {
            Some(beginning) => beginning,
            None => store.begin_turn(lease).await?,
        };
        let view = self.desk.views.get(store, lease.org(), beginning.config).await?;
        let (row, attempt) = (first.id, first.attempts);
        let case = Case {
            desk: &self.desk,
            lease,
            key: &claimed.key,
            beginning,
            view,
            run: derived(RunId::from_u128, row.as_u128(), "run"),
            attempt,
            now: self.desk.parts.clock.now(),
        };
        let recovered = if attempt > 1 { Box::pin(self.recover(&case)).await? } else { None };
        let mut group = group.into_iter();
        match group.next() {
            Some((_, Entry::Decided { approval })) => {
                Box::pin(decision::go_on(&case, row, approval, recovered, then)).await
            }
            Some((_, Entry::GoOn { settled })) => {
                let note = "A colleague looked at this and leaves the answer to you.".to_owned();
                let (note, settled) = (Some(note), &settled);
                let input = Input {
                    rows: vec![row],
                    arrived: &[],
                    note,
                    approved: None,
                    agent: None,
                    settled,
                    then,
                };
                Box::pin(answer(&case, input, recovered)).await
            }
            Some((_, Entry::Resolved { call, outcome })) => {
                let note = format!("It is known now what became of {call}: {outcome}");
                let input = Input {
                    rows: vec![row],
                    arrived: &[],
                    note: Some(note),
                    approved: None,
                    agent: None,
                    settled: &[],
                    then,
                };
                Box::pin(answer(&case, input, recovered)).await
            }
            Some((_, Entry::Assigned { agents, by })) => {
                Box::pin(housekeeping::assign(&case, row, &agents, by, then)).await
            }
            Some((_, Entry::Tick)) => Box::pin(housekeeping::tick(&case, row, then)).await,
            Some((first, Entry::Wrote(wrote))) => {
                let mut arrived = vec![arrived(first, wrote)];
                arrived.extend(group.filter_map(|(row, entry)| match entry {
                    Entry::Wrote(wrote) => Some(self::arrived(row, wrote)),
                    _ => None,
                }));
                Box::pin(answer(&case, Input::wrote(&arrived, then), recovered)).await
            }
            None => Ok(()),
        }
    }

    /// What a try before this one had begun outside.
    async fn recover(&self, case: &Case<'_>) -> Result<Option<Recovered>, RunError> {
        let store = &self.desk.parts.store;
        let Some(open) = store.open_checkpoint(case.lease).await? else { return Ok(None) };
        if open.checkpoint.run != case.run {
            store.discard_checkpoint(case.lease).await?;
            return Ok(None);
        }
        let saved: Saved = read("turn", &open.checkpoint.state)?;
        let mut known = Known::new();
        for call in &open.calls {
            let outcome = match &call.outcome {
                Some(ostler_store::Outcome::Known(text)) => read("outcome", text)?,
                Some(ostler_store::Outcome::Unknown(why)) => {
                    Outcome::of(ostler_engine::outcome::Status::OutcomeUnknown, why.clone())
                }
                None => continue,
            };
            let ours = saved.open.calls.iter().find(|one| one.id == call.intent.call);
            if let Some(ours) = ours {
                known.insert((ours.path.clone(), ours.call.clone()), outcome);
            }
        }
        Ok(Some(Box::new((saved, known))))
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Worker")
    }
}

/// Whether it is answered together with what was written before and after it.
/// Whoever asks on the bus waits for an answer of their own.
const fn joins(entry: &Entry) -> bool {
    matches!(entry, Entry::Wrote(Wrote { asked: None, .. }))
}

fn read_all(messages: &[Waiting]) -> Result<Vec<(&Waiting, Entry)>, Unreadable> {
    messages.iter().map(|one| Ok((one, read("message", &one.payload)?))).collect()
}

fn arrived(row: &Waiting, wrote: Wrote) -> Arrived {
    Arrived { id: row.id, at: row.received_at, wrote }
}
