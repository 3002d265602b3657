//! The harness of one agent: everything between its queues and the agent.
//!
//! A harness consumes `agent.{id}`, and `team.{id}.work` if the agent shares its
//! team's work. A message passes, in this order: coordination messages, the
//! authority check, the circuit breaker, the agent with its timeout, recovery by
//! failure class, the report to the granter of the authority, and the reply.
//! The harness sets the sender of everything that the agent sends; an agent
//! cannot. Messages waiting for the breaker or for a retry are requeued when the
//! agent is stopped.
//!
//! | file | owns |
//! |---|---|
//! | `dispatch` | the path of a message through the harness |
//! | `gate` | authority, and plans that wait for approval |
//! | `attempt` | one call of the agent: breaker, timeout, panic |
//! | `recovery` | recovery from a failure |
//! | `reply` | replies and reports |
//! | `control` | coordination messages handled by the harness |
//! | `idle` | idle notices to team leaders |

mod attempt;
mod control;
mod dispatch;
mod gate;
mod idle;
mod recovery;
mod reply;

pub use reply::ReplyDelivery;
pub(super) use reply::send_reply;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ostler_bus::{ConsumeOptions, Consumer, Delivery, QueueName};
use ostler_domain::queue_agent::breaker::{Breaker, BreakerState};
use ostler_domain::queue_agent::name::TeamName;
use tokio::sync::{Mutex as AsyncMutex, Notify, Semaphore, watch};

use super::agent::DynAgent;
use super::error::Result;
use super::runtime::Inner;
use super::spec::{AgentSpec, TeamWork};

/// An agent with its guards, running in this process.
pub(super) struct QueueAgentHarness {
    pub(super) spec: AgentSpec,
    pub(super) agent: Arc<dyn DynAgent>,
    pub(super) queue: QueueName,
    runtime: Weak<Inner>,
    breaker: Mutex<Breaker>,
    /// Notified when the breaker may admit messages again.
    breaker_changed: Notify,
    /// Limits concurrent messages if they come from more than one queue.
    slots: Option<Semaphore>,
    in_progress: AtomicU32,
    /// Number of messages started so far.
    started: AtomicU64,
    /// Notified when the last message in progress is done.
    became_idle: Notify,
    /// Like `became_idle`, for `close`.
    drained: Notify,
    stopping: watch::Sender<bool>,
    /// Like `stopping`, cheap to read.
    closing: AtomicBool,
    /// The agent was asked to stop and finishes its work.
    shutting_down: AtomicBool,
    /// Whether the idle watcher runs.
    idle_watched: AtomicBool,
    teams: Mutex<BTreeSet<TeamName>>,
    consumers: AsyncMutex<Vec<Consumer>>,
}

/// Whether messages come from one queue or several.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueSources {
    One,
    Several,
}

impl QueueAgentHarness {
    pub(super) fn new(
        spec: AgentSpec,
        agent: Arc<dyn DynAgent>,
        runtime: Weak<Inner>,
        sources: QueueSources,
    ) -> Arc<Self> {
        let slots =
            (sources == QueueSources::Several).then(|| Semaphore::new(spec.concurrency.into()));
        Arc::new(Self {
            queue: QueueName::agent(&spec.name),
            breaker: Mutex::new(Breaker::new(spec.breaker)),
            spec,
            agent,
            runtime,
            breaker_changed: Notify::new(),
            slots,
            in_progress: AtomicU32::new(0),
            started: AtomicU64::new(0),
            became_idle: Notify::new(),
            drained: Notify::new(),
            stopping: watch::Sender::new(false),
            closing: AtomicBool::new(false),
            shutting_down: AtomicBool::new(false),
            idle_watched: AtomicBool::new(false),
            teams: Mutex::default(),
            consumers: AsyncMutex::default(),
        })
    }

    /// Consumes the agent's queue, and the work queues of its teams if it
    /// shares their work.
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
                ConsumeOptions { concurrency: self.spec.concurrency, ..ConsumeOptions::default() };
            let consumer = inner.bus.consume(&queue, options, Arc::new(handler)).await?;
            consumers.push(consumer);
        }
        Ok(())
    }

    /// Marks the harness as closing.
    pub(super) fn begin_close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.stopping.send_replace(true);
    }

    /// Stops without waiting, because the runtime is dropped.
    pub(super) fn abandon(&self) {
        self.begin_close();
        if let Ok(mut consumers) = self.consumers.try_lock() {
            consumers.clear();
        }
    }

    /// Stops consuming and returns when the messages in progress are done. May
    /// be called twice.
    pub(super) async fn close(&self) {
        self.begin_close();
        for consumer in self.consumers.lock().await.iter() {
            consumer.close().await;
        }
        loop {
            let drained = self.drained.notified();
            if self.in_progress() == 0 {
                return;
            }
            drained.await;
        }
    }

    /// Waits until the harness is closing.
    async fn closing(&self) {
        let mut stopping = self.stopping.subscribe();
        let _closed_or_gone = stopping.wait_for(|closing| *closing).await;
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    pub(super) fn in_progress(&self) -> u32 {
        self.in_progress.load(Ordering::SeqCst)
    }

    pub(super) fn started(&self) -> u64 {
        self.started.load(Ordering::SeqCst)
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn breaker_state(&self) -> BreakerState {
        self.breaker().state()
    }

    /// Returns whether the agent accepts work: it is not closing and its
    /// breaker is closed.
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
        if !self.idle_watched.swap(true, Ordering::SeqCst) {
            idle::watch(self);
        }
    }

    /// Enters the teams of a hosted agent. Nobody is told when it is idle, because a watcher
    /// would keep it in memory.
    pub(super) fn enter_teams_unwatched(&self, teams: Vec<TeamName>) {
        self.idle_watched.store(true, Ordering::SeqCst);
        self.team_set().extend(teams);
    }

    pub(super) fn leave_team(&self, team: &TeamName) {
        self.team_set().remove(team);
    }
}
