//! The bus between processes, on RabbitMQ.
//!
//! | file | owns |
//! |---|---|
//! | `link` | the connection, and getting another when it is lost |
//! | `topology` | queues and exchanges: their names, settings and bindings |
//! | `publish` | confirmed publishing |
//! | `consume` | one consumer: what it holds, what it has in work |
//! | `subscribe` | the channels that bring a consumer its messages |
//! | `settle` | ack, repeat or dead letter |
//! | `letter` | a message in the form of the broker |
//! | `dead` | looking at dead letters, putting them back, deleting them |
//! | `replies` | the replies to this bus |
//! | `remove` | the end of a queue |

mod consume;
mod dead;
mod letter;
mod link;
mod publish;
mod remove;
mod replies;
mod settle;
mod subscribe;
mod topology;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ostler_domain::dispatch::name::{AgentName, TeamName};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;

use crate::bus::{BoxFuture, ConsumeOptions, Depth, Failure, Handler, Limits, MessageBus};
use crate::consumer::{Consumer, Consumers};
use crate::dead::{DeadLetter, Selection};
use crate::envelope::Envelope;
use crate::error::{BusError, Result};
use crate::id::next_id;
use crate::memory::Replies;
use crate::queue::QueueName;
use link::Links;
use topology::{Need, Topology};

/// How the broker is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RabbitOptions {
    /// What the names of all queues and exchanges begin with on the broker; at
    /// most 66 bytes.
    pub prefix: String,
    /// What the bus is limited to.
    pub limits: Limits,
    /// How long the broker may take for one answer. A link that is slower is
    /// given up for a new one.
    pub answer_patience: Duration,
    /// How often the broker is heard from at least, in seconds.
    pub heartbeat_secs: u16,
    /// The wait after a failed attempt to connect; it doubles.
    pub first_wait: Duration,
    /// The longest wait between attempts to connect.
    pub longest_wait: Duration,
    /// How many messages may be on their way to the broker at once.
    pub publishes_in_flight: usize,
}

impl Default for RabbitOptions {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            limits: Limits::default(),
            answer_patience: Duration::from_secs(10),
            heartbeat_secs: 10,
            first_wait: Duration::from_millis(50),
            longest_wait: Duration::from_secs(2),
            publishes_in_flight: 4096,
        }
    }
}

/// A bus on RabbitMQ.
#[derive(Clone)]
pub struct RabbitBus(Arc<Inner>);

struct Inner {
    options: RabbitOptions,
    topology: Topology,
    links: Arc<Links>,
    /// Whether the link ends with this bus.
    owns_link: bool,
    /// Bounds what is on its way.
    in_flight: Semaphore,
    consumers: Consumers,
    replies: Arc<Replies>,
    /// Where replies to this bus go.
    reply_to: QueueName,
    /// The one consumer of replies, from the first request on.
    reply_consumer: OnceLock<()>,
    /// Held by whoever looks through the dead letters.
    browsing: Mutex<()>,
    closed: AtomicBool,
}

impl RabbitBus {
    /// Connects to `amqp://user:password@host:port/vhost`, or `amqps`.
    pub async fn connect(address: &str, options: RabbitOptions) -> Result<Self> {
        let bus = Self::reach(address, options)?;
        bus.0.prepare(&Need::Dead).await?;
        Ok(bus)
    }

    /// The same, without waiting for the broker: whatever needs it waits for it,
    /// as it does when the broker goes away later.
    pub fn reach(address: &str, options: RabbitOptions) -> Result<Self> {
        let links = Arc::new(Links::open(address, &options)?);
        Self::on(links, true, options)
    }

    /// Another bus on the same connection, whose names on the broker begin with
    /// something else. It ends with this one at the latest.
    pub fn beside(&self, prefix: &str) -> Result<Self> {
        let options = RabbitOptions { prefix: prefix.to_owned(), ..self.0.options.clone() };
        Self::on(Arc::clone(&self.0.links), false, options)
    }

    fn on(links: Arc<Links>, owns_link: bool, options: RabbitOptions) -> Result<Self> {
        let topology = Topology::new(&options)?;
        Ok(Self(Arc::new(Inner {
            topology,
            links,
            owns_link,
            in_flight: Semaphore::new(options.publishes_in_flight),
            consumers: Consumers::default(),
            replies: Arc::default(),
            reply_to: QueueName::replies(next_id().as_u128() as u64),
            reply_consumer: OnceLock::new(),
            browsing: Mutex::new(()),
            closed: AtomicBool::new(false),
            options,
        })))
    }
}

impl Inner {
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Relaxed) { Err(BusError::Closed) } else { Ok(()) }
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.options.limits.publish_patience
    }

    async fn consume(
        self: &Arc<Self>,
        queue: &QueueName,
        options: ConsumeOptions,
        handler: Arc<dyn Handler>,
    ) -> Result<Consumer> {
        self.check_open()?;
        self.prepare(&Need::Queue(queue.clone())).await?;
        let consumer = consume::start(self, queue, options, handler);
        self.consumers.add(&consumer);
        Ok(consumer)
    }

    async fn request(
        self: &Arc<Self>,
        queue: &QueueName,
        mut envelope: Envelope,
        patience: Duration,
    ) -> Result<Arc<Envelope>> {
        self.reply_consumer.get_or_init(|| replies::start(self));
        envelope.context.reply_to = Some(self.reply_to.clone());
        let pending = self.replies.expect(envelope.message.id, patience);
        let no_reply = || BusError::NoReply { queue: queue.clone(), patience };
        let exchange = async {
            self.prepare(&Need::Replies(self.reply_to.clone())).await?;
            self.publish(queue, &envelope).await?;
            pending.reply().await.ok_or_else(no_reply)
        };
        tokio::time::timeout(patience, exchange).await.map_err(|_| no_reply())?
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.consumers.close_all().await;
        if self.owns_link {
            self.links.close().await;
        }
    }
}

impl MessageBus for RabbitBus {
    fn publish<'a>(
        &'a self,
        queue: &'a QueueName,
        envelope: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.0.publish(queue, &envelope).await })
    }

    fn consume<'a>(
        &'a self,
        queue: &'a QueueName,
        options: ConsumeOptions,
        handler: Arc<dyn Handler>,
    ) -> BoxFuture<'a, Result<Consumer>> {
        Box::pin(self.0.consume(queue, options, handler))
    }

    fn stop_all(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.consumers.close_all())
    }

    fn join<'a>(&'a self, team: &'a TeamName, agent: &'a AgentName) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.join(team, agent))
    }

    fn leave<'a>(&'a self, team: &'a TeamName, agent: &'a AgentName) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.leave(team, agent))
    }

    fn broadcast<'a>(
        &'a self,
        team: &'a TeamName,
        envelope: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.0.broadcast(team, &envelope).await })
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
        Box::pin(async move { self.0.list_dead(&which, limit).await })
    }

    fn replay(&self, which: Selection) -> BoxFuture<'_, Result<usize>> {
        Box::pin(async move { self.0.replay_dead(&which).await })
    }

    fn purge(&self, which: Selection) -> BoxFuture<'_, Result<usize>> {
        Box::pin(async move { self.0.purge_dead(&which).await })
    }

    fn depth<'a>(&'a self, queue: &'a QueueName) -> BoxFuture<'a, Result<Depth>> {
        Box::pin(self.0.depth(queue))
    }

    fn remove<'a>(&'a self, queue: &'a QueueName, why: Failure) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { self.0.remove(queue, &why).await })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.close())
    }
}
