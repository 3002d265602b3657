//! The harness of one agent: everything between its queue and the agent.
//!
//! | file | owns |
//! |---|---|
//! | `dispatch` | the way of a message through the harness |
//! | `gate` | authority, and plans that wait for approval |
//! | `attempt` | one dispatch: breaker, time-out, panic |
//! | `recovery` | what is done about a failure |
//! | `reply` | replies and reports |
//! | `control` | the messages that the harness carries out itself |
//! | `idle` | telling the leader that there is nothing to do |

mod attempt;
mod control;
mod dispatch;
mod gate;
mod idle;
mod recovery;
mod reply;

pub(super) use reply::answer;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ostler_bus::{ConsumeOptions, Consumer, Delivery, QueueName};
use ostler_domain::dispatch::breaker::{Breaker, BreakerState};
use ostler_domain::dispatch::name::TeamName;
use tokio::sync::{Mutex as AsyncMutex, Notify, Semaphore, watch};

use super::agent::AnyAgent;
use super::error::Result;
use super::runtime::Inner;
use super::spec::{Spec, TeamWork};

/// An agent with its guards, in this process.
pub(super) struct Harness {
    pub(super) spec: Spec,
    pub(super) agent: Arc<dyn AnyAgent>,
    pub(super) queue: QueueName,
    runtime: Weak<Inner>,
    breaker: Mutex<Breaker>,
    /// The breaker may let something through that it did not before.
    breaker_moved: Notify,
    /// Places for messages in work, where more than one queue brings them.
    places: Option<Semaphore>,
    in_work: AtomicU32,
    /// Counts the messages that were begun.
    begun: AtomicU64,
    /// The last message in work is done; for whoever watches.
    emptied: Notify,
    /// The same, for those who close.
    drained: Notify,
    stopping: watch::Sender<bool>,
    /// The same, for those who only look.
    closing: AtomicBool,
    /// It was asked to stop, and finishes its work.
    leaving: AtomicBool,
    /// Somebody watches for the end of its work.
    watched: AtomicBool,
    teams: Mutex<BTreeSet<TeamName>>,
    consumers: AsyncMutex<Vec<Consumer>>,
}

/// How many queues bring messages to an agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sources {
    One,
    Several,
}

impl Harness {
    pub(super) fn new(
        spec: Spec,
        agent: Arc<dyn AnyAgent>,
        runtime: Weak<Inner>,
        sources: Sources,
    ) -> Arc<Self> {
        let places = (sources == Sources::Several).then(|| Semaphore::new(spec.at_once.into()));
        Arc::new(Self {
            queue: QueueName::agent(&spec.name),
            breaker: Mutex::new(Breaker::new(spec.breaker)),
            spec,
            agent,
            runtime,
            breaker_moved: Notify::new(),
            places,
            in_work: AtomicU32::new(0),
            begun: AtomicU64::new(0),
            emptied: Notify::new(),
            drained: Notify::new(),
            stopping: watch::Sender::new(false),
            closing: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            teams: Mutex::default(),
            consumers: AsyncMutex::default(),
        })
    }

    /// Takes the agent's messages, and those that its team shares.
    pub(super) async fn consume(self: &Arc<Self>, inner: &Inner) -> Result<()> {
        let mut queues = vec![self.queue.clone()];
        if self.spec.team_work == TeamWork::Shared {
            queues.extend(self.teams().iter().map(QueueName::team_work));
        }
        let mut consumers = self.consumers.lock().await;
        for queue in queues {
            let harness = Arc::clone(self);
            let handler = move |delivery: Delivery| Arc::clone(&harness).handle(delivery);
            let options =
                ConsumeOptions { concurrency: self.spec.at_once, ..ConsumeOptions::default() };
            let consumer = inner.bus.consume(&queue, options, Arc::new(handler)).await?;
            consumers.push(consumer);
        }
        Ok(())
    }

    /// Says that it will be closed.
    pub(super) fn begin_close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.stopping.send_replace(true);
    }

    /// Stops without waiting: the runtime is gone.
    pub(super) fn abandon(&self) {
        self.begin_close();
        if let Ok(mut consumers) = self.consumers.try_lock() {
            consumers.clear();
        }
    }

    /// Takes no more messages, and returns when those in work are done. It does
    /// no harm to do it twice.
    pub(super) async fn close(&self) {
        self.begin_close();
        for consumer in self.consumers.lock().await.iter() {
            consumer.close().await;
        }
        loop {
            let drained = self.drained.notified();
            if self.in_work() == 0 {
                return;
            }
            drained.await;
        }
    }

    /// Returns when the harness is closed.
    async fn closing(&self) {
        let mut stopping = self.stopping.subscribe();
        let _closed_or_gone = stopping.wait_for(|closing| *closing).await;
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    pub(super) fn in_work(&self) -> u32 {
        self.in_work.load(Ordering::SeqCst)
    }

    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn breaker_state(&self) -> BreakerState {
        self.breaker().state()
    }

    /// Whether it takes work: its breaker does not hold it back.
    pub(super) fn takes_work(&self) -> bool {
        !self.is_closing() && matches!(self.breaker_state(), BreakerState::Closed { .. })
    }

    fn team_set(&self) -> MutexGuard<'_, BTreeSet<TeamName>> {
        self.teams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn teams(&self) -> Vec<TeamName> {
        self.team_set().iter().cloned().collect()
    }

    pub(super) fn is_in(&self, team: &TeamName) -> bool {
        self.team_set().contains(team)
    }

    pub(super) fn enter_team(self: &Arc<Self>, team: TeamName) {
        self.team_set().insert(team);
        if !self.watched.swap(true, Ordering::SeqCst) {
            idle::watch(self);
        }
    }

    pub(super) fn leave_team(&self, team: &TeamName) {
        self.team_set().remove(team);
    }
}
