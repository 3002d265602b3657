//! The bus inside one process: no broker, nothing encoded, nothing kept.
//!
//! No lock is held while anything is awaited, and an envelope is shared by all
//! who receive it.

mod dead;
mod queue;
mod remove;
mod replies;
mod worker;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use ostler_domain::dispatch::name::{AgentName, TeamName};

use crate::bus::{BoxFuture, ConsumeOptions, Depth, Failure, Handler, Limits, MessageBus, OnFull};
use crate::consumer::{Consumer, Consumers};
use crate::dead::{DeadLetter, Selection};
use crate::envelope::Envelope;
use crate::error::{BusError, Result};
use crate::id::process_number;
use crate::queue::QueueName;
use dead::DeadLetters;
use queue::{NotIn, Queue};
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
    replies: Arc<Replies>,
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
            replies: Arc::default(),
            reply_to: QueueName::replies(number),
            consumers: Consumers::default(),
            closed: AtomicBool::new(false),
        }))
    }
}

/// What became of a message that was to go at once.
#[derive(PartialEq, Eq)]
enum Offered {
    /// It is there.
    Taken,
    /// It has to wait for room.
    Full,
}

impl Shared {
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Relaxed) { Err(BusError::Closed) } else { Ok(()) }
    }

    fn queues(&self) -> RwLockReadGuard<'_, HashMap<QueueName, Arc<Queue>>> {
        self.queues.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn existing(&self, name: &QueueName) -> Option<Arc<Queue>> {
        self.queues().get(name).cloned()
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
        while self.offer(name, &envelope)? == Offered::Full {
            let queue = self.queue(name)?;
            // What happens seldom is boxed, so that the usual way stays small.
            if Box::pin(self.push_later(&queue, &envelope)).await? {
                break;
            }
        }
        Ok(())
    }

    /// Puts a message where it is to go, if it can be there at once.
    fn offer(&self, name: &QueueName, envelope: &Arc<Envelope>) -> Result<Offered> {
        self.check_open()?;
        if name.is_for_replies() {
            let waited = *name == self.reply_to && self.replies.deliver(Arc::clone(envelope));
            let nobody = || BusError::NobodyWaits(name.clone());
            return if waited { Ok(Offered::Taken) } else { Err(nobody()) };
        }
        if let Some(queue) = self.queues().get(name)
            && let Some(offered) = self.push(queue, envelope)?
        {
            return Ok(offered);
        }
        loop {
            if let Some(offered) = self.push(&*self.queue(name)?, envelope)? {
                return Ok(offered);
            }
        }
    }

    /// Puts a message into a queue; nothing is returned if the queue ended.
    fn push(&self, queue: &Queue, envelope: &Arc<Envelope>) -> Result<Option<Offered>> {
        match queue.push(envelope, self.limits.queue_length as usize) {
            Ok(()) => Ok(Some(Offered::Taken)),
            Err(NotIn::Full) if self.limits.on_full == OnFull::Wait => Ok(Some(Offered::Full)),
            Err(NotIn::Full) => Err(BusError::Full(queue.name.clone())),
            Err(NotIn::Ended) => Ok(None),
        }
    }

    /// Puts a message into a queue as soon as there is room; false if the queue
    /// ended.
    async fn push_later(&self, queue: &Queue, envelope: &Arc<Envelope>) -> Result<bool> {
        let room = queue.push_later(envelope, self.limits.queue_length as usize);
        let waiting = tokio::time::timeout(self.limits.publish_patience, room);
        waiting.await.map_err(|_| BusError::Full(queue.name.clone()))
    }

    async fn request(
        &self,
        queue: &QueueName,
        envelope: Arc<Envelope>,
        patience: Duration,
    ) -> Result<Arc<Envelope>> {
        let pending = self.replies.expect(envelope.message.id, patience);
        let no_reply = || BusError::NoReply { queue: queue.clone(), patience };
        if self.offer(queue, &envelope)? == Offered::Full {
            let publishing = tokio::time::timeout(patience, self.publish(queue, envelope));
            Box::pin(publishing).await.map_err(|_| no_reply())??;
        }
        pending.reply().await.ok_or_else(no_reply)
    }

    async fn broadcast(&self, team: &TeamName, envelope: Arc<Envelope>) -> Result<()> {
        self.check_open()?;
        let members: Vec<Arc<Queue>> = {
            let teams = self.teams.read().unwrap_or_else(PoisonError::into_inner);
            teams.get(team).map(|team| team.values().cloned().collect()).unwrap_or_default()
        };
        let mut result = Ok(());
        for queue in members {
            let pushed = match self.push(&queue, &envelope) {
                Ok(Some(Offered::Full)) => self.push_later(&queue, &envelope).await.map(drop),
                // Whose queue ended is no member any more.
                pushed => pushed.map(drop),
            };
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

/// A queue and a consumer's presence there, which keeps it from ending.
fn present(bus: &Shared, name: &QueueName) -> Result<(Arc<Queue>, Arc<Presence>)> {
    loop {
        let queue = bus.queue(name)?;
        let presence = Presence::new(&queue);
        if !queue.has_ended() {
            return Ok((queue, presence));
        }
    }
}

fn consume(
    bus: &Arc<Shared>,
    name: &QueueName,
    options: ConsumeOptions,
    handler: &Arc<dyn Handler>,
) -> Result<Consumer> {
    bus.check_open()?;
    let (queue, presence) = present(bus, name)?;
    let stopping = Arc::new(AtomicBool::new(false));
    let workers = options.concurrency.max(1);
    let options = Arc::new(options);
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
        mut envelope: Envelope,
        patience: Duration,
    ) -> BoxFuture<'a, Result<Arc<Envelope>>> {
        envelope.context.reply_to = Some(self.0.reply_to.clone());
        // Shared from here on, so that the future does not have to hold it.
        Box::pin(self.0.request(queue, Arc::new(envelope), patience))
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

    fn remove<'a>(&'a self, queue: &'a QueueName, why: Failure) -> BoxFuture<'a, Result<bool>> {
        Box::pin(remove::remove(&self.0, queue, why))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.0.closed.store(true, Ordering::Relaxed);
            self.0.consumers.close_all().await;
        })
    }
}
