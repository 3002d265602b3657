//! Queues and exchanges on the broker.
//!
//! A queue of the bus is four quorum queues on the broker, one per priority
//! class, because quorum queues have no priorities: `agent.echo` is the queue
//! of the normal class, `agent.echo:critical` that of the critical class. A
//! team is one fanout exchange per class.

use std::time::Duration;

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, ExchangeKind};
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::priority::Priority;

use super::connection::BrokerConnection;
use super::{Inner, RabbitOptions};
use crate::bus::{QueueDepth, QueueLimits};
use crate::error::{BusError, Result};
use crate::queue::{MAX_NAME_LEN, QueueName};

/// Something to declare before it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Declaration {
    /// A queue with all its classes.
    Queue(QueueName),
    /// A queue of one class.
    Class(QueueName, Priority),
    /// The exchanges of a team.
    Team(TeamName),
    /// The reply queue of this bus.
    Replies(QueueName),
    /// The dead-letter exchange and queue.
    DeadLetters,
    Nothing,
}

pub(super) struct Topology {
    prefix: String,
    limits: QueueLimits,
}

/// When an unused reply queue is deleted by the broker.
const REPLIES_EXPIRE_MILLIS: i32 = 600_000;
/// The maximum length of a prefix: AMQP names have at most 255 bytes, and ours
/// may end with a class.
const MAX_PREFIX_LEN: usize = 255 - MAX_NAME_LEN - ":critical".len();
/// The delivery limit of the dead-letter queue; listing a dead letter counts as
/// a delivery.
const UNLIMITED_DELIVERIES: i32 = 1_000_000_000;

impl Topology {
    pub(super) fn new(options: &RabbitOptions) -> Result<Self> {
        let (prefix, limits) = (options.prefix.clone(), options.limits);
        let (size, limit) = (prefix.len(), MAX_PREFIX_LEN);
        if size > limit {
            Err(BusError::PrefixTooLong { size, limit })
        } else {
            Ok(Self { prefix, limits })
        }
    }

    fn class_name(&self, name: &str, class: Priority) -> String {
        match class {
            Priority::Normal => format!("{}{name}", self.prefix),
            Priority::Critical | Priority::High | Priority::Low => {
                format!("{}{name}:{}", self.prefix, class.as_str())
            }
        }
    }

    /// Returns the broker's name of a queue for one class.
    pub(super) fn queue(&self, name: &QueueName, class: Priority) -> String {
        self.class_name(name.as_str(), class)
    }

    /// Returns the broker's name of a reply queue.
    pub(super) fn replies(&self, name: &QueueName) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Returns the broker's name of a team's exchange for one class.
    pub(super) fn team(&self, team: &TeamName, class: Priority) -> String {
        self.class_name(&format!("team.{team}"), class)
    }

    /// Returns the broker's name of the dead-letter exchange and queue.
    pub(super) fn dead_letters(&self) -> String {
        format!("{}ostler.dead", self.prefix)
    }

    /// Returns the queue that a broker's name belongs to.
    pub(super) fn parse_queue(&self, name: &str) -> Option<QueueName> {
        let name = name.strip_prefix(self.prefix.as_str())?;
        name.split(':').next()?.parse().ok()
    }

    fn queue_arguments(&self) -> FieldTable {
        let limit = i32::try_from(self.limits.max_attempts.saturating_sub(1)).unwrap_or(i32::MAX);
        let mut arguments = quorum(limit, self.limits.queue_length);
        text(&mut arguments, "x-dead-letter-exchange", &self.dead_letters());
        text(&mut arguments, "x-dead-letter-strategy", "at-least-once");
        arguments
    }

    async fn declare(&self, channel: &Channel, declaration: &Declaration) -> lapin::Result<()> {
        let durable = QueueDeclareOptions::durable();
        match declaration {
            Declaration::Queue(name) => {
                for class in Priority::ALL {
                    let name = self.queue(name, class).into();
                    channel.queue_declare(name, durable, self.queue_arguments()).await?;
                }
            }
            Declaration::Class(name, class) => {
                let name = self.queue(name, *class).into();
                channel.queue_declare(name, durable, self.queue_arguments()).await?;
            }
            Declaration::Team(team) => {
                for class in Priority::ALL {
                    declare_fanout(channel, self.team(team, class)).await?;
                }
            }
            Declaration::Replies(name) => {
                let mut arguments = FieldTable::default();
                number(&mut arguments, "x-expires", REPLIES_EXPIRE_MILLIS);
                bounded(&mut arguments, self.limits.queue_length);
                channel.queue_declare(self.replies(name).into(), durable, arguments).await?;
            }
            Declaration::DeadLetters => {
                let name: ShortString = self.dead_letters().into();
                declare_fanout(channel, self.dead_letters()).await?;
                let arguments = quorum(UNLIMITED_DELIVERIES, self.limits.dead_letters);
                channel.queue_declare(name.clone(), durable, arguments).await?;
                bind(channel, name.clone(), name).await?;
            }
            Declaration::Nothing => {}
        }
        Ok(())
    }

    /// Returns the names under which a declaration is remembered.
    fn keys(&self, declaration: &Declaration) -> Vec<String> {
        match declaration {
            Declaration::Queue(name) => Priority::ALL.map(|class| self.queue(name, class)).into(),
            Declaration::Class(name, class) => vec![self.queue(name, *class)],
            Declaration::Team(team) => {
                vec![format!("{} (exchange)", self.team(team, Priority::Normal))]
            }
            Declaration::Replies(name) => vec![self.replies(name)],
            Declaration::DeadLetters => vec![self.dead_letters()],
            Declaration::Nothing => Vec::new(),
        }
    }

    /// Returns the name of a declaration for error messages.
    fn name(&self, declaration: &Declaration) -> String {
        match declaration {
            Declaration::Queue(name) => self.queue(name, Priority::Normal),
            other => self.keys(other).concat(),
        }
    }
}

async fn declare_fanout(channel: &Channel, name: String) -> lapin::Result<()> {
    let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    let kind = ExchangeKind::Fanout;
    channel.exchange_declare(name.into(), kind, durable, FieldTable::default()).await
}

async fn bind(channel: &Channel, queue: ShortString, exchange: ShortString) -> lapin::Result<()> {
    let (options, none) = (QueueBindOptions::default(), FieldTable::default());
    channel.queue_bind(queue, exchange, "".into(), options, none).await
}

fn text(arguments: &mut FieldTable, name: &str, value: &str) {
    arguments.insert(name.into(), AMQPValue::LongString(value.into()));
}

fn number(arguments: &mut FieldTable, name: &str, value: i32) {
    arguments.insert(name.into(), AMQPValue::LongInt(value));
}

fn bounded(arguments: &mut FieldTable, length: u32) {
    number(arguments, "x-max-length", i32::try_from(length).unwrap_or(i32::MAX));
    text(arguments, "x-overflow", "reject-publish");
}

fn quorum(delivery_limit: i32, length: u32) -> FieldTable {
    let mut arguments = FieldTable::default();
    text(&mut arguments, "x-queue-type", "quorum");
    number(&mut arguments, "x-delivery-limit", delivery_limit);
    bounded(&mut arguments, length);
    arguments
}

/// The result of one request to the broker.
pub(super) enum BrokerReply<T> {
    Answered(T),
    /// The broker refused this request; the connection still works.
    Refused(String),
    /// This request got no answer; the connection answers others.
    TimedOut,
    /// The connection does not answer and is replaced.
    ConnectionLost,
}

impl<T> BrokerReply<T> {
    /// Returns the answer, or the failure as a reply to another request.
    pub(super) fn answered<U>(self) -> Result<T, BrokerReply<U>> {
        match self {
            Self::Answered(answer) => Ok(answer),
            Self::Refused(reason) => Err(BrokerReply::Refused(reason)),
            Self::TimedOut => Err(BrokerReply::TimedOut),
            Self::ConnectionLost => Err(BrokerReply::ConnectionLost),
        }
    }

    fn map<U>(self, convert: impl FnOnce(T) -> U) -> BrokerReply<U> {
        match self.answered() {
            Ok(answer) => BrokerReply::Answered(convert(answer)),
            Err(failed) => failed,
        }
    }
}

/// The delay before an unanswered request is repeated.
pub(super) const RETRY_DELAY: Duration = Duration::from_millis(200);

/// A request that changes or reads the topology.
enum TopologyRequest<'a> {
    Declare(&'a Declaration),
    Bind(&'a QueueName, &'a TeamName),
    Unbind(&'a QueueName, &'a TeamName),
    /// Reads the counts of a queue, by its name on the broker.
    Count(&'a str),
}

impl TopologyRequest<'_> {
    /// Returns whether callers may continue without an answer: consumers and
    /// publishers declare each class themselves.
    const fn may_time_out(&self) -> bool {
        matches!(self, Self::Declare(Declaration::Queue(_)))
    }
}

/// Number of messages and consumers.
type QueueCounts = (u64, u32);

impl Topology {
    async fn run(
        &self,
        channel: &Channel,
        request: &TopologyRequest<'_>,
    ) -> lapin::Result<QueueCounts> {
        match request {
            TopologyRequest::Declare(declaration) => self.declare(channel, declaration).await?,
            TopologyRequest::Bind(queue, team) => {
                for class in Priority::ALL {
                    let (queue, exchange) = (self.queue(queue, class), self.team(team, class));
                    bind(channel, queue.into(), exchange.into()).await?;
                }
            }
            TopologyRequest::Unbind(queue, team) => {
                for class in Priority::ALL {
                    let (queue, exchange) = (self.queue(queue, class), self.team(team, class));
                    let none = FieldTable::default();
                    channel.queue_unbind(queue.into(), exchange.into(), "".into(), none).await?;
                }
            }
            TopologyRequest::Count(queue) => {
                let passive =
                    QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
                let none = FieldTable::default();
                let found = channel.queue_declare((*queue).into(), passive, none).await?;
                return Ok((u64::from(found.message_count()), found.consumer_count()));
            }
        }
        Ok((0, 0))
    }
}

impl Inner {
    /// Runs a request on a channel of its own, because a refusal closes the
    /// channel.
    async fn run_on_new_channel(
        &self,
        connection: &BrokerConnection,
        request: &TopologyRequest<'_>,
    ) -> BrokerReply<QueueCounts> {
        let running = async {
            let channel = connection.amqp.create_channel().await?;
            let answer = self.topology.run(&channel, request).await?;
            channel.close(200, "done".into()).await?;
            Ok(answer)
        };
        match tokio::time::timeout(self.options.broker_timeout, running).await {
            Ok(Ok(answer)) => BrokerReply::Answered(answer),
            Ok(Err(error)) if is_refusal(&error) => BrokerReply::Refused(error.to_string()),
            Ok(Err(_)) => {
                connection.mark_lost();
                BrokerReply::ConnectionLost
            }
            Err(_) => connection.probe(self.options.broker_timeout).await,
        }
    }

    /// Declares something unless that was done on this connection.
    pub(super) async fn ensure_declared(
        &self,
        connection: &BrokerConnection,
        declaration: &Declaration,
    ) -> BrokerReply<()> {
        let keys = self.topology.keys(declaration);
        if keys.iter().all(|key| connection.has_declared(key)) {
            return BrokerReply::Answered(());
        }
        let request = TopologyRequest::Declare(declaration);
        let declared = self.run_on_new_channel(connection, &request).await;
        declared.map(|_| connection.set_declared(keys))
    }

    pub(super) fn forget_declared(&self, connection: &BrokerConnection, declaration: &Declaration) {
        for key in self.topology.keys(declaration) {
            connection.forget_declared(&key);
        }
    }

    /// Runs a request, on a new connection if needed, until it is answered or
    /// times out.
    async fn run_with_retry(&self, request: &TopologyRequest<'_>) -> Result<QueueCounts> {
        self.check_open()?;
        let patience = self.options.limits.publish_timeout;
        let running = async {
            let mut generation = 0;
            loop {
                let connection = self.connector.newer_than(generation).await?;
                match self.run_on(&connection, request).await {
                    BrokerReply::Answered(answer) => return Ok(answer),
                    BrokerReply::Refused(reason) => {
                        return Err(BusError::TopologyRefused {
                            name: self.request_name(request),
                            reason,
                        });
                    }
                    BrokerReply::TimedOut if request.may_time_out() => return Ok((0, 0)),
                    BrokerReply::TimedOut => tokio::time::sleep(RETRY_DELAY).await,
                    BrokerReply::ConnectionLost => generation = connection.generation,
                }
            }
        };
        match tokio::time::timeout(patience, running).await {
            Ok(result) => result,
            Err(_) => Err(BusError::Unavailable {
                waited: patience,
                reason: self.connector.down_reason(),
            }),
        }
    }

    async fn run_on(
        &self,
        connection: &BrokerConnection,
        request: &TopologyRequest<'_>,
    ) -> BrokerReply<QueueCounts> {
        match request {
            TopologyRequest::Declare(declaration) => {
                self.ensure_declared(connection, declaration).await.map(|()| (0, 0))
            }
            // A queue that does not exist is empty.
            TopologyRequest::Count(_) => match self.run_on_new_channel(connection, request).await {
                BrokerReply::Refused(_) => BrokerReply::Answered((0, 0)),
                reply => reply,
            },
            TopologyRequest::Bind(..) | TopologyRequest::Unbind(..) => {
                self.run_on_new_channel(connection, request).await
            }
        }
    }

    fn request_name(&self, request: &TopologyRequest<'_>) -> String {
        match request {
            TopologyRequest::Declare(declaration) => self.topology.name(declaration),
            TopologyRequest::Bind(_, team) | TopologyRequest::Unbind(_, team) => team.to_string(),
            TopologyRequest::Count(queue) => (*queue).to_owned(),
        }
    }

    pub(super) async fn declare(&self, declaration: &Declaration) -> Result<()> {
        self.run_with_retry(&TopologyRequest::Declare(declaration)).await.map(drop)
    }

    pub(super) async fn join(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        let queue = QueueName::agent(agent);
        self.declare(&Declaration::Queue(queue.clone())).await?;
        self.declare(&Declaration::Team(team.clone())).await?;
        self.run_with_retry(&TopologyRequest::Bind(&queue, team)).await.map(drop)
    }

    pub(super) async fn leave(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        let queue = QueueName::agent(agent);
        self.declare(&Declaration::Queue(queue.clone())).await?;
        self.declare(&Declaration::Team(team.clone())).await?;
        self.run_with_retry(&TopologyRequest::Unbind(&queue, team)).await.map(drop)
    }

    pub(super) async fn depth(&self, name: &QueueName) -> Result<QueueDepth> {
        let mut depth = QueueDepth::default();
        for class in Priority::ALL {
            let (waiting, consumers) = self.count(&self.topology.queue(name, class)).await?;
            depth.waiting[class.rank()] = waiting;
            if class == Priority::Normal {
                depth.consumers = consumers;
            }
        }
        Ok(depth)
    }

    /// Returns the message and consumer counts of a queue, by its name on the
    /// broker.
    pub(super) async fn count(&self, queue: &str) -> Result<QueueCounts> {
        self.run_with_retry(&TopologyRequest::Count(queue)).await
    }
}

/// Returns whether the broker refused a single request, so that the connection
/// still works.
pub(super) fn is_refusal(error: &lapin::Error) -> bool {
    error.is_amqp_soft_error()
}
