//! The bus inside one process: no broker, nothing encoded, nothing kept.
//!
//! No lock is held while anything is awaited, and an envelope is shared by all
//! who receive it.

mod dead;
mod queue;
mod replies;
mod worker;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ostler_domain::dispatch::name::{AgentName, TeamName};

use crate::bus::{BoxFuture, ConsumeOptions, Depth, Handler, Limits, MessageBus, OnFull};
use crate::consumer::{Consumer, Consumers};
use crate::dead::{DeadLetter, Selection};
use crate::envelope::Envelope;
use crate::error::{BusError, Result};
use crate::id::process_number;
use crate::queue::QueueName;
use dead::DeadLetters;
use queue::Queue;
pub(crate) use replies::Replies;
pub(crate) use worker::handle;
use worker::{Presence, Worker};

type Members = BTreeMap<AgentName, Arc<Queue>>;

/// A bus in memory.
#[derive(Clone)]
pub struct MemoryBus(Arc<Shared>);

struct Shared {
    limits: Limits,
    queues: RwLock<HashMap<QueueName, Arc<Queue>>>,
    teams: RwLock<HashMap<TeamName, Members>>,
    dead: DeadLetters,
    replies: Replies,
    /// Where replies to this bus go.
    reply_to: QueueName,
    consumers: Consumers,
    closed: AtomicBool,
}

impl Default for MemoryBus {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl MemoryBus {
    /// A bus with these limits.
    pub fn new(limits: Limits) -> Self {
        static BUSES: AtomicU64 = AtomicU64::new(0);
        let number = process_number().wrapping_add(BUSES.fetch_add(1, Ordering::Relaxed));
        Self(Arc::new(Shared {
            limits,
            queues: RwLock::default(),
            teams: RwLock::default(),
            dead: DeadLetters::default(),
            replies: Replies::default(),
            reply_to: QueueName::replies(number),
            consumers: Consumers::default(),
            closed: AtomicBool::new(false),
        }))
    }
}

impl Shared {
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Relaxed) { Err(BusError::Closed) } else { Ok(()) }
    }

    fn existing(&self, name: &QueueName) -> Option<Arc<Queue>> {
        self.queues.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn queue(&self, name: &QueueName) -> Result<Arc<Queue>> {
        if let Some(queue) = self.existing(name) {
            return Ok(queue);
        }
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        if queues.len() >= self.limits.queues && !queues.contains_key(name) {
            return Err(BusError::TooManyQueues(queues.len()));
        }
        let queue = || Arc::new(Queue::new(name.clone()));
        Ok(Arc::clone(queues.entry(name.clone()).or_insert_with(queue)))
    }

    async fn publish(&self, name: &QueueName, envelope: Arc<Envelope>) -> Result<()> {
        self.check_open()?;
        if name.is_for_replies() {
            let waited = *name == self.reply_to && self.replies.deliver(envelope);
            return if waited { Ok(()) } else { Err(BusError::NobodyWaits(name.clone())) };
        }
        self.push(&*self.queue(name)?, &envelope).await
    }

    async fn push(&self, queue: &Queue, envelope: &Arc<Envelope>) -> Result<()> {
        let length = self.limits.queue_length as usize;
        if queue.push(envelope, length).is_ok() {
            return Ok(());
        }
        let full = || BusError::Full(queue.name.clone());
        if self.limits.on_full == OnFull::Refuse {
            return Err(full());
        }
        let room = async {
            loop {
                let room = queue.room.notified();
                if queue.push(envelope, length).is_ok() {
                    return;
                }
                room.await;
            }
        };
        tokio::time::timeout(self.limits.publish_patience, room).await.map_err(|_| full())
    }

    async fn request(
        &self,
        queue: &QueueName,
        mut envelope: Envelope,
        patience: Duration,
    ) -> Result<Arc<Envelope>> {
        envelope.context.reply_to = Some(self.reply_to.clone());
        let mut pending = self.replies.expect(envelope.message.id);
        let no_reply = || BusError::NoReply { queue: queue.clone(), patience };
        let exchange = async {
            self.publish(queue, Arc::new(envelope)).await?;
            (&mut pending.reply).await.map_err(|_| no_reply())
        };
        tokio::time::timeout(patience, exchange).await.map_err(|_| no_reply())?
    }

    async fn broadcast(&self, team: &TeamName, envelope: Arc<Envelope>) -> Result<()> {
        self.check_open()?;
        let members: Vec<Arc<Queue>> = {
            let teams = self.teams.read().unwrap_or_else(PoisonError::into_inner);
            teams.get(team).map(|team| team.values().cloned().collect()).unwrap_or_default()
        };
        let mut result = Ok(());
        for queue in members {
            let pushed = self.push(&queue, &envelope).await;
            result = result.and(pushed);
        }
        result
    }

    fn join(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        self.check_open()?;
        let queue = self.queue(&QueueName::agent(agent))?;
        let mut teams = self.teams.write().unwrap_or_else(PoisonError::into_inner);
        teams.entry(team.clone()).or_default().insert(agent.clone(), queue);
        Ok(())
    }

    fn leave(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        self.check_open()?;
        let mut teams = self.teams.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(members) = teams.get_mut(team) {
            members.remove(agent);
            if members.is_empty() {
                teams.remove(team);
            }
        }
        Ok(())
    }

    async fn replay(&self, which: &Selection) -> Result<usize> {
        self.check_open()?;
        let mut letters = self.dead.take(which).into_iter();
        let mut replayed = 0;
        while let Some(letter) = letters.next() {
            let Some(envelope) = letter.envelope.clone() else { continue };
            if let Err(error) = self.publish(&letter.death.queue, envelope).await {
                self.dead.put_back(std::iter::once(letter).chain(letters));
                return Err(error);
            }
            replayed += 1;
        }
        Ok(replayed)
    }
}

fn consume(
    bus: &Arc<Shared>,
    name: &QueueName,
    options: ConsumeOptions,
    handler: &Arc<dyn Handler>,
) -> Result<Consumer> {
    bus.check_open()?;
    let queue = bus.queue(name)?;
    let stopping = Arc::new(AtomicBool::new(false));
    let workers = options.concurrency.max(1);
    let options = Arc::new(options);
    let presence = Presence::new(&queue);
    let worker = |_| {
        let worker = Worker {
            bus: Arc::clone(bus),
            queue: Arc::clone(&queue),
            handler: Arc::clone(handler),
            options: Arc::clone(&options),
            stopping: Arc::clone(&stopping),
            _presence: Arc::clone(&presence),
        };
        tokio::spawn(worker.run())
    };
    let tasks = (0..workers).map(worker).collect();
    let shared = Arc::downgrade(bus);
    let stop = move || {
        stopping.store(true, Ordering::SeqCst);
        queue.ready.notify_waiters();
        if let Some(bus) = shared.upgrade() {
            bus.dead.room.notify_waiters();
        }
    };
    let consumer = Consumer::new(stop, tasks);
    bus.consumers.add(&consumer);
    Ok(consumer)
}

impl MessageBus for MemoryBus {
    fn publish<'a>(
        &'a self,
        queue: &'a QueueName,
        envelope: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.publish(queue, envelope))
    }

    fn consume<'a>(
        &'a self,
        queue: &'a QueueName,
        options: ConsumeOptions,
        handler: Arc<dyn Handler>,
    ) -> BoxFuture<'a, Result<Consumer>> {
        Box::pin(async move { consume(&self.0, queue, options, &handler) })
    }

    fn stop_all(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.consumers.close_all())
    }

    fn join<'a>(&'a self, team: &'a TeamName, agent: &'a AgentName) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.0.join(team, agent) })
    }

    fn leave<'a>(&'a self, team: &'a TeamName, agent: &'a AgentName) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.0.leave(team, agent) })
    }

    fn broadcast<'a>(
        &'a self,
        team: &'a TeamName,
        envelope: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.broadcast(team, envelope))
    }

    fn request<'a>(
        &'a self,
        queue: &'a QueueName,
        envelope: Envelope,
        patience: Duration,
    ) -> BoxFuture<'a, Result<Arc<Envelope>>> {
        Box::pin(self.0.request(queue, envelope, patience))
    }

    fn dead_letters(
        &self,
        which: Selection,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<DeadLetter>>> {
        Box::pin(async move { Ok(self.0.dead.list(&which, limit)) })
    }

    fn replay(&self, which: Selection) -> BoxFuture<'_, Result<usize>> {
        Box::pin(async move { self.0.replay(&which).await })
    }

    fn purge(&self, which: Selection) -> BoxFuture<'_, Result<usize>> {
        Box::pin(async move { Ok(self.0.dead.take(&which).len()) })
    }

    fn depth<'a>(&'a self, queue: &'a QueueName) -> BoxFuture<'a, Result<Depth>> {
        Box::pin(async move {
            let existing = self.0.existing(queue);
            Ok(existing.map(|queue| queue.depth()).unwrap_or_default())
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.0.closed.store(true, Ordering::Relaxed);
            self.0.consumers.close_all().await;
        })
    }
}
