//! The bus between processes, on RabbitMQ.
//!
//! Every queue is four quorum queues on the broker, one per priority class.
//! Publishing uses confirms, consuming uses acks, and a lost connection is
//! replaced, never repaired.
//!
//! | file | owns |
//! |---|---|
//! | `connection` | the connection and its replacement when it is lost |
//! | `topology` | queues and exchanges: names, settings, bindings |
//! | `publish` | publishing with confirms |
//! | `consume` | a consumer: prefetched messages and messages in progress |
//! | `subscription` | the channels of a consumer |
//! | `settle` | ack, requeue or dead letter |
//! | `wire` | messages as AMQP properties and bodies |
//! | `dead_letters` | listing, replaying and deleting dead letters |
//! | `replies` | the consumer of replies |
//! | `delete_queue` | deleting a queue without losing its messages |

mod address;
mod connection;
mod consume;
mod dead_letters;
mod delete_queue;
mod publish;
mod replies;
mod settle;
mod subscription;
mod topology;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ostler_domain::queue_agent::name::{AgentName, TeamName};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;

use crate::bus::{
    BoxFuture, ConsumeOptions, Failure, Handler, MessageBus, QueueDepth, QueueLimits,
};
use crate::consumer::{Consumer, ConsumerRegistry};
use crate::dead_letter::{DeadLetter, DeadLetterFilter};
use crate::envelope::Envelope;
use crate::error::{BusError, Result};
use crate::id::next_id;
use crate::pending_replies::PendingReplies;
use crate::queue::QueueName;
use connection::Connector;
use topology::{Declaration, Topology};

/// Options of the broker connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RabbitOptions {
    /// Prefix of all queue and exchange names on the broker; at most 66 bytes.
    pub prefix: String,
    pub limits: QueueLimits,
    /// How long the broker may take to answer. A slower connection is replaced.
    pub broker_timeout: Duration,
    /// The heartbeat interval.
    pub heartbeat_secs: u16,
    /// The delay after the first failed attempt to connect; it doubles with
    /// each attempt.
    pub reconnect_min_delay: Duration,
    pub reconnect_max_delay: Duration,
    /// Maximum number of published messages without a confirm.
    pub max_unconfirmed: usize,
}

impl Default for RabbitOptions {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            limits: QueueLimits::default(),
            broker_timeout: Duration::from_secs(10),
            heartbeat_secs: 10,
            reconnect_min_delay: Duration::from_millis(50),
            reconnect_max_delay: Duration::from_secs(2),
            max_unconfirmed: 4096,
        }
    }
}

/// A message bus on RabbitMQ.
#[derive(Clone)]
pub struct RabbitBus(Arc<Inner>);

struct Inner {
    options: RabbitOptions,
    topology: Topology,
    connector: Arc<Connector>,
    /// Whether closing this bus closes the connection.
    owns_connection: bool,
    /// Limits unconfirmed messages.
    in_flight: Semaphore,
    consumers: ConsumerRegistry,
    replies: Arc<PendingReplies>,
    /// The reply queue of this bus.
    reply_to: QueueName,
    /// Set once the consumer of replies runs, from the first request on.
    reply_consumer: OnceLock<()>,
    /// Held while dead letters are fetched.
    browse_lock: Mutex<()>,
    closed: AtomicBool,
}

impl RabbitBus {
    /// Connects to `amqp://user:password@host:port/vhost` (or `amqps`). Fails
    /// if the broker does not answer in time.
    pub async fn connect(address: &str, options: RabbitOptions) -> Result<Self> {
        let bus = Self::connect_lazy(address, options)?;
        bus.0.declare(&Declaration::DeadLetters).await?;
        Ok(bus)
    }

    /// Creates a bus without waiting for the broker. Every operation waits for
    /// a connection, as it does during a later outage.
    pub fn connect_lazy(address: &str, options: RabbitOptions) -> Result<Self> {
        let connector = Arc::new(Connector::open(address, &options)?);
        Self::with_connector(connector, true, options)
    }

    /// Creates a bus with another prefix on the same connection. It ends with
    /// this bus at the latest.
    pub fn with_prefix(&self, prefix: &str) -> Result<Self> {
        let options = RabbitOptions { prefix: prefix.to_owned(), ..self.0.options.clone() };
        Self::with_connector(Arc::clone(&self.0.connector), false, options)
    }

    fn with_connector(
        connector: Arc<Connector>,
        owns_connection: bool,
        options: RabbitOptions,
    ) -> Result<Self> {
        let topology = Topology::new(&options)?;
        Ok(Self(Arc::new(Inner {
            topology,
            connector,
            owns_connection,
            in_flight: Semaphore::new(options.max_unconfirmed),
            consumers: ConsumerRegistry::default(),
            replies: Arc::default(),
            reply_to: QueueName::replies(next_id().as_u128() as u64),
            reply_consumer: OnceLock::new(),
            browse_lock: Mutex::new(()),
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
        Instant::now() + self.options.limits.publish_timeout
    }

    async fn consume(
        self: &Arc<Self>,
        queue: &QueueName,
        options: ConsumeOptions,
        handler: Arc<dyn Handler>,
    ) -> Result<Consumer> {
        self.check_open()?;
        self.declare(&Declaration::Queue(queue.clone())).await?;
        let consumer = consume::start(self, queue, options, handler);
        self.consumers.add(&consumer);
        Ok(consumer)
    }

    async fn request(
        self: &Arc<Self>,
        queue: &QueueName,
        mut envelope: Envelope,
        timeout: Duration,
    ) -> Result<Arc<Envelope>> {
        self.reply_consumer.get_or_init(|| replies::start(self));
        envelope.context.reply_to = Some(self.reply_to.clone());
        let pending = self.replies.expect(envelope.message.id, timeout);
        let no_reply = || BusError::ReplyTimeout { queue: queue.clone(), timeout };
        let exchange = async {
            self.declare(&Declaration::Replies(self.reply_to.clone())).await?;
            self.publish(queue, &envelope).await?;
            pending.reply().await.ok_or_else(no_reply)
        };
        tokio::time::timeout(timeout, exchange).await.map_err(|_| no_reply())?
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.consumers.close_all().await;
        if self.owns_connection {
            self.connector.close().await;
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

    fn stop_consumers(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.consumers.close_all())
    }

    fn join_team<'a>(
        &'a self,
        team: &'a TeamName,
        agent: &'a AgentName,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.join(team, agent))
    }

    fn leave_team<'a>(
        &'a self,
        team: &'a TeamName,
        agent: &'a AgentName,
    ) -> BoxFuture<'a, Result<()>> {
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
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Arc<Envelope>>> {
        Box::pin(self.0.request(queue, envelope, timeout))
    }

    fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<DeadLetter>>> {
        Box::pin(async move { self.0.list_dead_letters(&filter, limit).await })
    }

    fn replay_dead_letters(&self, filter: DeadLetterFilter) -> BoxFuture<'_, Result<usize>> {
        Box::pin(async move { self.0.replay_dead_letters(&filter).await })
    }

    fn purge_dead_letters(&self, filter: DeadLetterFilter) -> BoxFuture<'_, Result<usize>> {
        Box::pin(async move { self.0.purge_dead_letters(&filter).await })
    }

    fn depth<'a>(&'a self, queue: &'a QueueName) -> BoxFuture<'a, Result<QueueDepth>> {
        Box::pin(self.0.depth(queue))
    }

    fn delete_queue<'a>(
        &'a self,
        queue: &'a QueueName,
        reason: Failure,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { self.0.delete_queue(queue, &reason).await })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.close())
    }
}
