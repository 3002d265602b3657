//! The interface of a message bus, for publishers and consumers.
//!
//! Owns the [`MessageBus`] trait, its limits and options, and what a handler
//! returns. Both implementations pass the same conformance suite.

use std::collections::BTreeSet;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::{AgentName, TeamName};

use crate::consumer::Consumer;
use crate::dead_letter::{DeadLetter, DeadLetterFilter};
use crate::envelope::{Envelope, EnvelopeKind};
use crate::error::Result;
use crate::queue::QueueName;

/// A boxed future, for methods of trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What `publish` does when a queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// Waits for room for at most [`QueueLimits::publish_timeout`], then fails
    /// with [`BusError::QueueFull`](crate::BusError::QueueFull).
    Wait,
    /// Fails at once.
    Reject,
}

/// Limits of a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Maximum number of waiting messages per queue and priority class.
    pub queue_length: u32,
    pub on_full: OverflowPolicy,
    /// Maximum number of stored dead letters. Once it is reached, a consumer
    /// keeps a failed message until there is room.
    pub dead_letters: u32,
    /// How long a publisher waits for room in the queue, or for the broker.
    pub publish_timeout: Duration,
    /// Maximum number of deliveries per message. Deliveries lost with a
    /// connection count, so the default is generous.
    pub max_attempts: u32,
    /// Maximum number of queues per process.
    pub max_queues: usize,
    /// Maximum size of an encoded message, in bytes.
    pub message_bytes: usize,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            queue_length: 10_000,
            on_full: OverflowPolicy::Wait,
            dead_letters: 100_000,
            publish_timeout: Duration::from_secs(30),
            max_attempts: 20,
            max_queues: 1_100_000,
            message_bytes: 4 << 20,
        }
    }
}

/// Options of a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumeOptions {
    /// Maximum number of messages handled at the same time.
    pub concurrency: u16,
    /// Number of messages per priority class that the broker hands out beyond
    /// those being handled. The most urgent of these is handled next.
    ///
    /// On RabbitMQ this limits how far deadlines take effect: a broker's queue
    /// is first in, first out, so a near deadline is only seen once the message
    /// is within the prefetch. Where deadlines matter, choose a prefetch as
    /// long as the usual backlog. In memory all waiting messages are
    /// considered. The order of priority classes never depends on the prefetch.
    pub prefetch: u16,
    /// The message types that are handled; `None` means all. A message of
    /// another type becomes a dead letter.
    pub accepts: Option<BTreeSet<EnvelopeKind>>,
}

impl Default for ConsumeOptions {
    fn default() -> Self {
        Self { concurrency: 1, prefetch: 1, accepts: None }
    }
}

impl ConsumeOptions {
    /// Returns why this consumer does not handle messages of `kind`, or `None`
    /// if it does.
    pub(crate) fn refusal(&self, kind: &EnvelopeKind) -> Option<Failure> {
        let accepts = self.accepts.as_ref().is_none_or(|kinds| kinds.contains(kind));
        (!accepts).then(|| Failure {
            class: FailureClass::Data,
            reason: format!("messages of type `{kind}` are not handled here"),
        })
    }
}

/// A message handed to a handler.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub envelope: Arc<Envelope>,
    pub queue: QueueName,
    /// Starts at 1.
    pub attempt: u32,
    /// Whether the message may have been handled before.
    pub redelivered: bool,
}

/// Why a message was not handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub class: FailureClass,
    pub reason: String,
}

/// What happens to a message after its handler returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// The message is acknowledged.
    Done,
    /// The message is delivered again. After the last attempt it becomes a dead
    /// letter with this failure.
    Retry(Failure),
    /// The message becomes a dead letter with this failure.
    DeadLetter(Failure),
}

/// Handles the messages of a queue. If a handler panics, that message becomes a
/// dead letter and the consumer continues.
pub trait Handler: Send + Sync + 'static {
    /// Handles one message.
    fn handle(&self, delivery: Delivery) -> BoxFuture<'static, Disposition>;
}

impl<F, R> Handler for F
where
    F: Fn(Delivery) -> R + Send + Sync + 'static,
    R: Future<Output = Disposition> + Send + 'static,
{
    fn handle(&self, delivery: Delivery) -> BoxFuture<'static, Disposition> {
        Box::pin(self(delivery))
    }
}

/// Number of waiting messages and consumers of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueDepth {
    /// Messages not handed to a consumer yet, by priority class (most urgent
    /// first).
    pub waiting: [u64; 4],
    pub consumers: u32,
}

impl QueueDepth {
    /// Returns the number of waiting messages of all classes.
    pub fn total(&self) -> u64 {
        self.waiting.iter().sum()
    }
}

/// A message bus. All methods may be called concurrently.
pub trait MessageBus: Send + Sync + 'static {
    /// Publishes a message to a queue, creating the queue if needed. Returns
    /// once the bus has accepted responsibility for the message; it then waits
    /// for a consumer.
    fn publish<'a>(
        &'a self,
        queue: &'a QueueName,
        envelope: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Starts a consumer, which runs until the returned handle is closed or
    /// dropped. Several consumers of one queue share its messages.
    fn consume<'a>(
        &'a self,
        queue: &'a QueueName,
        options: ConsumeOptions,
        handler: Arc<dyn Handler>,
    ) -> BoxFuture<'a, Result<Consumer>>;

    /// Closes all consumers and returns when the messages in progress are
    /// settled.
    fn stop_consumers(&self) -> BoxFuture<'_, ()>;

    /// Subscribes an agent's queue to the broadcasts of a team.
    fn join_team<'a>(
        &'a self,
        team: &'a TeamName,
        agent: &'a AgentName,
    ) -> BoxFuture<'a, Result<()>>;

    /// Unsubscribes an agent's queue from the broadcasts of a team.
    fn leave_team<'a>(
        &'a self,
        team: &'a TeamName,
        agent: &'a AgentName,
    ) -> BoxFuture<'a, Result<()>>;

    /// Publishes one copy of a message to the queue of each member of a team.
    /// If one queue is full, the other members still get their copy and an
    /// error is returned.
    fn broadcast<'a>(
        &'a self,
        team: &'a TeamName,
        envelope: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Publishes a message and waits for its reply. Sets `reply_to`; the reply
    /// is the first message published there with the request as its parent.
    /// Fails with [`BusError::ReplyTimeout`](crate::BusError::ReplyTimeout)
    /// after `timeout`.
    fn request<'a>(
        &'a self,
        queue: &'a QueueName,
        envelope: Envelope,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Arc<Envelope>>>;

    /// Returns up to `limit` matching dead letters, oldest first.
    fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<DeadLetter>>>;

    /// Publishes matching dead letters to their original queues as new messages
    /// and returns how many. Unreadable dead letters are skipped and stay.
    fn replay_dead_letters(&self, filter: DeadLetterFilter) -> BoxFuture<'_, Result<usize>>;

    /// Deletes matching dead letters and returns how many.
    fn purge_dead_letters(&self, filter: DeadLetterFilter) -> BoxFuture<'_, Result<usize>>;

    /// Returns the depth of a queue; a queue that does not exist is empty.
    fn depth<'a>(&'a self, queue: &'a QueueName) -> BoxFuture<'a, Result<QueueDepth>>;

    /// Deletes a queue whose consumer does not return. Its messages become dead
    /// letters with `reason`. The queue is created again by the next publish.
    /// Returns `false` if the queue has a consumer or did not become empty in
    /// time, and is therefore kept.
    fn delete_queue<'a>(
        &'a self,
        queue: &'a QueueName,
        reason: Failure,
    ) -> BoxFuture<'a, Result<bool>>;

    /// Stops all consumers and closes the bus. Later calls fail with
    /// [`BusError::Closed`](crate::BusError::Closed).
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Runs a handler. A panic becomes a dead letter.
pub(crate) async fn run_handler(handler: &dyn Handler, delivery: Delivery) -> Disposition {
    let handling = AssertUnwindSafe(async { handler.handle(delivery).await });
    handling.catch_unwind().await.unwrap_or_else(|_| {
        let reason = "the handler panicked".to_owned();
        Disposition::DeadLetter(Failure { class: FailureClass::Application, reason })
    })
}
