//! What a bus does, for those who publish and those who consume.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::name::{AgentName, TeamName};

use crate::consumer::Consumer;
use crate::dead::{DeadLetter, Selection};
use crate::envelope::{Envelope, Kind};
use crate::error::Result;
use crate::queue::QueueName;

/// A future that can be held in a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What happens when a queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFull {
    /// The publisher waits for room, at most as long as
    /// [`Limits::publish_patience`], and is then refused.
    Wait,
    /// The publisher is refused at once.
    Refuse,
}

/// What the bus is limited to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many messages of each class may wait in a queue.
    pub queue_length: u32,
    /// What happens beyond that.
    pub on_full: OnFull,
    /// How many dead letters are kept. Beyond that, consumers hold on to what
    /// fails until there is room.
    pub dead_letters: u32,
    /// How long a publisher waits for room or for the broker.
    pub publish_patience: Duration,
    /// How often a message is delivered at most. What was lost with a
    /// connection counts, so this is generous.
    pub attempts: u32,
    /// How many queues one process may know.
    pub queues: usize,
    /// How large a message may be on the wire, in bytes.
    pub message_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue_length: 10_000,
            on_full: OnFull::Wait,
            dead_letters: 100_000,
            publish_patience: Duration::from_secs(30),
            attempts: 20,
            queues: 1_100_000,
            message_bytes: 4 << 20,
        }
    }
}

/// How a queue is consumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumeOptions {
    /// How many messages are handled at once.
    pub concurrency: u16,
    /// How many messages of each class the broker hands out beyond those that
    /// are being handled. Among these the most pressing is handled next.
    ///
    /// On RabbitMQ this is how far deadlines are looked at: a queue there gives
    /// out in the order of arrival, so a message with a near deadline is seen
    /// when all but so many of its class before it are. Where deadlines matter,
    /// it is as long as what usually waits. In memory all that waits is seen,
    /// and the order of classes never depends on it.
    pub prefetch: u16,
    /// The types that are handled; all, if none are named. A message of
    /// another type is a dead letter.
    pub accepts: Option<BTreeSet<Kind>>,
}

impl Default for ConsumeOptions {
    fn default() -> Self {
        Self { concurrency: 1, prefetch: 1, accepts: None }
    }
}

impl ConsumeOptions {
    /// Why a message is not for this consumer, if it is not.
    pub(crate) fn refusal(&self, kind: &Kind) -> Option<Failure> {
        let accepts = self.accepts.as_ref().is_none_or(|kinds| kinds.contains(kind));
        (!accepts).then(|| Failure {
            class: FailureClass::Data,
            reason: format!("messages of type `{kind}` are not handled here"),
        })
    }
}

/// A message on its way into a handler.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The message.
    pub envelope: Arc<Envelope>,
    /// The queue that it was taken from.
    pub queue: QueueName,
    /// The first time is 1.
    pub attempt: u32,
    /// Whether it may have been handled before.
    pub redelivered: bool,
}

/// Why a message was not handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is.
    pub class: FailureClass,
    /// Why, in words.
    pub reason: String,
}

/// What a handler says about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is handled.
    Done,
    /// It is to be delivered again; once the attempts are used up, it is a
    /// dead letter with this failure.
    Again(Failure),
    /// It is a dead letter.
    Dead(Failure),
}

/// What is done with the messages of a queue. A handler that panics fails with
/// that one message; the consumer goes on.
pub trait Handler: Send + Sync + 'static {
    /// Handles one message.
    fn handle(&self, delivery: Delivery) -> BoxFuture<'static, Verdict>;
}

impl<F, R> Handler for F
where
    F: Fn(Delivery) -> R + Send + Sync + 'static,
    R: Future<Output = Verdict> + Send + 'static,
{
    fn handle(&self, delivery: Delivery) -> BoxFuture<'static, Verdict> {
        Box::pin(self(delivery))
    }
}

/// How full a queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Messages that wait and were handed to nobody, by class.
    pub waiting: [u64; 4],
    /// How many consumers it has.
    pub consumers: u32,
}

impl Depth {
    /// Messages of all classes.
    pub fn total(&self) -> u64 {
        self.waiting.iter().sum()
    }
}

/// A bus. All operations may be called from anywhere at the same time.
pub trait MessageBus: Send + Sync + 'static {
    /// Puts a message into a queue, which comes to be if there is none, and
    /// waits there for a consumer. Returns when the bus has the message safe.
    fn publish<'a>(
        &'a self,
        queue: &'a QueueName,
        envelope: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Has a handler take the messages of a queue, until its handle is closed
    /// or dropped. Several consumers of one queue share its messages.
    fn consume<'a>(
        &'a self,
        queue: &'a QueueName,
        options: ConsumeOptions,
        handler: Arc<dyn Handler>,
    ) -> BoxFuture<'a, Result<Consumer>>;

    /// Closes every consumer, and returns when what they were handling is done.
    fn stop_all(&self) -> BoxFuture<'_, ()>;

    /// Has an agent receive what is broadcast to a team.
    fn join<'a>(&'a self, team: &'a TeamName, agent: &'a AgentName) -> BoxFuture<'a, Result<()>>;

    /// Ends that.
    fn leave<'a>(&'a self, team: &'a TeamName, agent: &'a AgentName) -> BoxFuture<'a, Result<()>>;

    /// Puts one copy into the queue of each member of a team. If the queue of
    /// one is full, the others have it, and the error says that one has not.
    fn broadcast<'a>(
        &'a self,
        team: &'a TeamName,
        envelope: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Publishes a message and waits for the reply to it: the first message
    /// that names it as its parent and is published to its `reply_to`, which
    /// is filled in.
    fn request<'a>(
        &'a self,
        queue: &'a QueueName,
        envelope: Envelope,
        patience: Duration,
    ) -> BoxFuture<'a, Result<Arc<Envelope>>>;

    /// Shows dead letters, oldest first.
    fn dead_letters(
        &self,
        which: Selection,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<DeadLetter>>>;

    /// Puts dead letters back into the queues that they were for, as if they
    /// were new. What cannot be read stays. Returns how many.
    fn replay(&self, which: Selection) -> BoxFuture<'_, Result<usize>>;

    /// Deletes dead letters. Returns how many.
    fn purge(&self, which: Selection) -> BoxFuture<'_, Result<usize>>;

    /// How full a queue is; one that does not exist is empty.
    fn depth<'a>(&'a self, queue: &'a QueueName) -> BoxFuture<'a, Result<Depth>>;

    /// Ends a queue that nobody consumes and nobody will: what waits in it
    /// becomes dead letters, and the queue is gone until something is published
    /// to it again. False if it stays because somebody consumes it, or because
    /// it did not become empty in time.
    fn remove<'a>(&'a self, queue: &'a QueueName, why: Failure) -> BoxFuture<'a, Result<bool>>;

    /// Stops all consumers and ends the bus; later operations are refused.
    fn close(&self) -> BoxFuture<'_, ()>;
}
