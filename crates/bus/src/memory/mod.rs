//! The bus inside one process: without a broker, encoding or persistence.
//!
//! No lock is held across an `await`, and receivers share envelopes.

mod dead_letters;
mod delete_queue;
mod queue;
mod worker;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use ostler_domain::queue_agent::name::{AgentName, TeamName};

use crate::bus::{
    BoxFuture, ConsumeOptions, Failure, Handler, MessageBus, OverflowPolicy, QueueDepth,
    QueueLimits,
};
use crate::consumer::{Consumer, ConsumerRegistry};
use crate::dead_letter::{DeadLetter, DeadLetterFilter};
use crate::envelope::Envelope;
use crate::error::{BusError, Result};
use crate::id::process_number;
use crate::pending_replies::PendingReplies;
use crate::queue::QueueName;
use dead_letters::DeadLetters;
use queue::{PushError, Queue};
use worker::{ConsumerRegistration, Worker};

type Members = BTreeMap<AgentName, Arc<Queue>>;

/// A message bus inside one process.
#[derive(Clone)]
pub struct MemoryBus(Arc<Shared>);

struct Shared {
    limits: QueueLimits,
    queues: RwLock<HashMap<QueueName, Arc<Queue>>>,
    teams: RwLock<HashMap<TeamName, Members>>,
    dead_letters: DeadLetters,
    replies: Arc<PendingReplies>,
    /// The reply queue of this bus.
    reply_to: QueueName,
    consumers: ConsumerRegistry,
    closed: AtomicBool,
}

impl Default for MemoryBus {
    fn default() -> Self {
        Self::new(QueueLimits::default())
    }
}

impl MemoryBus {
    /// Creates a bus with these limits.
    pub fn new(limits: QueueLimits) -> Self {
        static BUSES: AtomicU64 = AtomicU64::new(0);
        let number = process_number().wrapping_add(BUSES.fetch_add(1, Ordering::Relaxed));
        Self(Arc::new(Shared {
            limits,
            queues: RwLock::default(),
            teams: RwLock::default(),
            dead_letters: DeadLetters::default(),
            replies: Arc::default(),
            reply_to: QueueName::replies(number),
            consumers: ConsumerRegistry::default(),
            closed: AtomicBool::new(false),
        }))
    }
}

/// The result of an attempt to queue a message without waiting.
#[derive(PartialEq, Eq)]
enum PushOutcome {
    Accepted,
    /// The publisher has to wait for room.
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
        if queues.len() >= self.limits.max_queues && !queues.contains_key(name) {
            return Err(BusError::TooManyQueues(queues.len()));
        }
        let queue = || Arc::new(Queue::new(name.clone()));
        Ok(Arc::clone(queues.entry(name.clone()).or_insert_with(queue)))
    }

    async fn publish(&self, name: &QueueName, envelope: Arc<Envelope>) -> Result<()> {
        while self.push_now(name, &envelope)? == PushOutcome::Full {
            let queue = self.queue(name)?;
            // The rare case is boxed to keep the common future small.
            if Box::pin(self.push_when_room(&queue, &envelope)).await? {
                break;
            }
        }
        Ok(())
    }

    /// Queues a message, or delivers it to a pending request, without waiting.
    fn push_now(&self, name: &QueueName, envelope: &Arc<Envelope>) -> Result<PushOutcome> {
        self.check_open()?;
        if name.is_reply_queue() {
            let delivered = *name == self.reply_to && self.replies.deliver(Arc::clone(envelope));
            let no_request = || BusError::NoPendingRequest(name.clone());
            return if delivered { Ok(PushOutcome::Accepted) } else { Err(no_request()) };
        }
        if let Some(queue) = self.queues().get(name)
            && let Some(outcome) = self.push(queue, envelope)?
        {
            return Ok(outcome);
        }
        loop {
            if let Some(outcome) = self.push(&*self.queue(name)?, envelope)? {
                return Ok(outcome);
            }
        }
    }

    /// Pushes a message into a queue; returns `None` if the queue was deleted.
    fn push(&self, queue: &Queue, envelope: &Arc<Envelope>) -> Result<Option<PushOutcome>> {
        match queue.push(envelope, self.limits.queue_length as usize) {
            Ok(()) => Ok(Some(PushOutcome::Accepted)),
            Err(PushError::Full) if self.limits.on_full == OverflowPolicy::Wait => {
                Ok(Some(PushOutcome::Full))
            }
            Err(PushError::Full) => Err(BusError::QueueFull(queue.name.clone())),
            Err(PushError::Deleted) => Ok(None),
        }
    }

    /// Pushes a message as soon as there is room; returns `false` if the queue
    /// was deleted.
    async fn push_when_room(&self, queue: &Queue, envelope: &Arc<Envelope>) -> Result<bool> {
        let room = queue.push_when_room(envelope, self.limits.queue_length as usize);
        let waiting = tokio::time::timeout(self.limits.publish_timeout, room);
        waiting.await.map_err(|_| BusError::QueueFull(queue.name.clone()))
    }

    async fn request(
        &self,
        queue: &QueueName,
        envelope: Arc<Envelope>,
        timeout: Duration,
    ) -> Result<Arc<Envelope>> {
        let pending = self.replies.expect(envelope.message.id, timeout);
        let no_reply = || BusError::ReplyTimeout { queue: queue.clone(), timeout };
        if self.push_now(queue, &envelope)? == PushOutcome::Full {
            let publishing = tokio::time::timeout(timeout, self.publish(queue, envelope));
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
                Ok(Some(PushOutcome::Full)) => {
                    self.push_when_room(&queue, &envelope).await.map(drop)
                }
                // An agent whose queue was deleted is no longer a member.
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

    async fn replay_dead_letters(&self, filter: &DeadLetterFilter) -> Result<usize> {
        self.check_open()?;
        let mut dead_letters = self.dead_letters.take(filter).into_iter();
        let mut replayed = 0;
        while let Some(dead_letter) = dead_letters.next() {
            let Some(envelope) = dead_letter.envelope.clone() else { continue };
            if let Err(error) = self.publish(&dead_letter.cause.queue, envelope).await {
                self.dead_letters.put_back(std::iter::once(dead_letter).chain(dead_letters));
                return Err(error);
            }
            replayed += 1;
        }
        Ok(replayed)
    }
}

/// Returns a queue with a registered consumer, which prevents its deletion.
fn register_consumer(
    bus: &Shared,
    name: &QueueName,
) -> Result<(Arc<Queue>, Arc<ConsumerRegistration>)> {
    loop {
        let queue = bus.queue(name)?;
        let registration = ConsumerRegistration::new(&queue);
        if !queue.is_deleted() {
            return Ok((queue, registration));
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
    let (queue, registration) = register_consumer(bus, name)?;
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
            _registration: Arc::clone(&registration),
        };
        tokio::spawn(worker.run())
    };
    let tasks = (0..workers).map(worker).collect();
    let shared = Arc::downgrade(bus);
    let stop = move || {
        stopping.store(true, Ordering::SeqCst);
        queue.ready.notify_waiters();
        if let Some(bus) = shared.upgrade() {
            bus.dead_letters.room.notify_waiters();
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

    fn stop_consumers(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.consumers.close_all())
    }

    fn join_team<'a>(
        &'a self,
        team: &'a TeamName,
        agent: &'a AgentName,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.0.join(team, agent) })
    }

    fn leave_team<'a>(
        &'a self,
        team: &'a TeamName,
        agent: &'a AgentName,
    ) -> BoxFuture<'a, Result<()>> {
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
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Arc<Envelope>>> {
        envelope.context.reply_to = Some(self.0.reply_to.clone());
        // Wrapped here, so that the future does not contain the envelope.
        Box::pin(self.0.request(queue, Arc::new(envelope), timeout))
    }

    fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<DeadLetter>>> {
        Box::pin(async move { Ok(self.0.dead_letters.list(&filter, limit)) })
    }

    fn replay_dead_letters(&self, filter: DeadLetterFilter) -> BoxFuture<'_, Result<usize>> {
        Box::pin(async move { self.0.replay_dead_letters(&filter).await })
    }

    fn purge_dead_letters(&self, filter: DeadLetterFilter) -> BoxFuture<'_, Result<usize>> {
        Box::pin(async move { Ok(self.0.dead_letters.take(&filter).len()) })
    }

    fn depth<'a>(&'a self, queue: &'a QueueName) -> BoxFuture<'a, Result<QueueDepth>> {
        Box::pin(async move {
            let existing = self.0.existing(queue);
            Ok(existing.map(|queue| queue.depth()).unwrap_or_default())
        })
    }

    fn delete_queue<'a>(
        &'a self,
        queue: &'a QueueName,
        reason: Failure,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(delete_queue::delete_queue(&self.0, queue, reason))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.0.closed.store(true, Ordering::Relaxed);
            self.0.consumers.close_all().await;
        })
    }
}
