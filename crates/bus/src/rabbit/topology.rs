//! Queues and exchanges on the broker.
//!
//! A queue of the bus is four quorum queues there, one for each class, because
//! quorum queues have no priorities. `agent.echo` is the one of the usual
//! class, `agent.echo:critical` that of the critical. A team is a fanout
//! exchange for each class.

use std::time::Duration;

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, ExchangeKind};
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::dispatch::priority::Priority;

use super::link::Link;
use super::{Inner, RabbitOptions};
use crate::bus::{Depth, Limits};
use crate::error::{BusError, Result};
use crate::queue::{LONGEST, QueueName};

/// Something that must be there before it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Need {
    /// A queue with all its classes.
    Queue(QueueName),
    /// A queue for one class.
    Class(QueueName, Priority),
    /// The exchanges of a team.
    Team(TeamName),
    /// Where replies to this bus go.
    Replies(QueueName),
    /// Where dead letters go.
    Dead,
    /// Nothing.
    Nothing,
}

pub(super) struct Topology {
    prefix: String,
    limits: Limits,
}

/// How long a queue for replies stays when nobody takes from it.
const REPLIES_EXPIRE_MILLIS: i32 = 600_000;
/// The longest prefix: the broker's names have at most 255 bytes, and the
/// longest of ours ends with a class.
const LONGEST_PREFIX: usize = 255 - LONGEST - ":critical".len();
/// Looking at a dead letter counts as delivering it.
const LOOKS: i32 = 1_000_000_000;

impl Topology {
    pub(super) fn new(options: &RabbitOptions) -> Result<Self> {
        let (prefix, limits) = (options.prefix.clone(), options.limits);
        let (size, limit) = (prefix.len(), LONGEST_PREFIX);
        if size > limit {
            Err(BusError::Prefix { size, limit })
        } else {
            Ok(Self { prefix, limits })
        }
    }

    fn of_class(&self, name: &str, class: Priority) -> String {
        match class {
            Priority::Normal => format!("{}{name}", self.prefix),
            Priority::Critical | Priority::High | Priority::Low => {
                format!("{}{name}:{}", self.prefix, class.as_str())
            }
        }
    }

    /// The broker's name of a queue for one class.
    pub(super) fn queue(&self, name: &QueueName, class: Priority) -> String {
        self.of_class(name.as_str(), class)
    }

    /// The broker's name of the queue for replies.
    pub(super) fn replies(&self, name: &QueueName) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The broker's name of a team's exchange for one class.
    pub(super) fn team(&self, team: &TeamName, class: Priority) -> String {
        self.of_class(&format!("team.{team}"), class)
    }

    /// The exchange of dead letters, and its queue.
    pub(super) fn dead(&self) -> String {
        format!("{}ostler.dead", self.prefix)
    }

    /// The queue that a broker's name stands for.
    pub(super) fn queue_of(&self, name: &str) -> Option<QueueName> {
        let name = name.strip_prefix(self.prefix.as_str())?;
        name.split(':').next()?.parse().ok()
    }

    fn queue_arguments(&self) -> FieldTable {
        let limit = i32::try_from(self.limits.attempts.saturating_sub(1)).unwrap_or(i32::MAX);
        let mut arguments = quorum(limit, self.limits.queue_length);
        text(&mut arguments, "x-dead-letter-exchange", &self.dead());
        text(&mut arguments, "x-dead-letter-strategy", "at-least-once");
        arguments
    }

    async fn declare(&self, channel: &Channel, need: &Need) -> lapin::Result<()> {
        let durable = QueueDeclareOptions::durable();
        match need {
            Need::Queue(name) => {
                for class in Priority::ALL {
                    let name = self.queue(name, class).into();
                    channel.queue_declare(name, durable, self.queue_arguments()).await?;
                }
            }
            Need::Class(name, class) => {
                let name = self.queue(name, *class).into();
                channel.queue_declare(name, durable, self.queue_arguments()).await?;
            }
            Need::Team(team) => {
                for class in Priority::ALL {
                    declare_fanout(channel, self.team(team, class)).await?;
                }
            }
            Need::Replies(name) => {
                let mut arguments = FieldTable::default();
                number(&mut arguments, "x-expires", REPLIES_EXPIRE_MILLIS);
                bounded(&mut arguments, self.limits.queue_length);
                channel.queue_declare(self.replies(name).into(), durable, arguments).await?;
            }
            Need::Dead => {
                let name: ShortString = self.dead().into();
                declare_fanout(channel, self.dead()).await?;
                let arguments = quorum(LOOKS, self.limits.dead_letters);
                channel.queue_declare(name.clone(), durable, arguments).await?;
                bind(channel, name.clone(), name).await?;
            }
            Need::Nothing => {}
        }
        Ok(())
    }

    /// What a need is remembered as.
    fn keys(&self, need: &Need) -> Vec<String> {
        match need {
            Need::Queue(name) => Priority::ALL.map(|class| self.queue(name, class)).into(),
            Need::Class(name, class) => vec![self.queue(name, *class)],
            Need::Team(team) => vec![format!("{} (exchange)", self.team(team, Priority::Normal))],
            Need::Replies(name) => vec![self.replies(name)],
            Need::Dead => vec![self.dead()],
            Need::Nothing => Vec::new(),
        }
    }

    /// What an error calls a need.
    fn name(&self, need: &Need) -> String {
        match need {
            Need::Queue(name) => self.queue(name, Priority::Normal),
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

/// What became of something that was asked of the broker.
pub(super) enum Asked<T> {
    Answered(T),
    /// The broker refused this one thing.
    Refused(String),
    /// There is no answer to this one thing; the link answers otherwise.
    Silent,
    /// There is no answer; the link is given up.
    Lost,
}

/// The wait before something is asked again that was not answered.
pub(super) const ASK_AGAIN: Duration = Duration::from_millis(200);

/// Something that the broker is asked to do.
enum Errand<'a> {
    Declare(&'a Need),
    Bind(&'a QueueName, &'a TeamName),
    Unbind(&'a QueueName, &'a TeamName),
    /// Looks at a queue, by the broker's name of it.
    Count(&'a str),
}

impl Errand<'_> {
    /// Whether nobody need wait for it: whoever takes from a queue or sends to
    /// it makes sure of each class by itself.
    const fn may_come_later(&self) -> bool {
        matches!(self, Self::Declare(Need::Queue(_)))
    }
}

/// How many messages and consumers a queue has.
type Counted = (u64, u32);

impl Topology {
    async fn run(&self, channel: &Channel, errand: &Errand<'_>) -> lapin::Result<Counted> {
        match errand {
            Errand::Declare(need) => self.declare(channel, need).await?,
            Errand::Bind(queue, team) => {
                for class in Priority::ALL {
                    let (queue, exchange) = (self.queue(queue, class), self.team(team, class));
                    bind(channel, queue.into(), exchange.into()).await?;
                }
            }
            Errand::Unbind(queue, team) => {
                for class in Priority::ALL {
                    let (queue, exchange) = (self.queue(queue, class), self.team(team, class));
                    let none = FieldTable::default();
                    channel.queue_unbind(queue.into(), exchange.into(), "".into(), none).await?;
                }
            }
            Errand::Count(queue) => {
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
    /// Asks on a channel of its own, so that a refusal closes nothing else.
    async fn ask(&self, link: &Link, errand: &Errand<'_>) -> Asked<Counted> {
        let asking = async {
            let channel = link.connection.create_channel().await?;
            let answer = self.topology.run(&channel, errand).await?;
            channel.close(200, "done".into()).await?;
            Ok(answer)
        };
        match tokio::time::timeout(self.options.answer_patience, asking).await {
            Ok(Ok(answer)) => Asked::Answered(answer),
            Ok(Err(error)) if is_refusal(&error) => Asked::Refused(error.to_string()),
            Ok(Err(_)) => {
                link.suspect();
                Asked::Lost
            }
            Err(_) => link.silence(self.options.answer_patience).await,
        }
    }

    /// Makes sure, once for each link, that something is there.
    pub(super) async fn ensure(&self, link: &Link, need: &Need) -> Asked<()> {
        let keys = self.topology.keys(need);
        if keys.iter().all(|key| link.has_declared(key)) {
            return Asked::Answered(());
        }
        match self.ask(link, &Errand::Declare(need)).await {
            Asked::Answered(_) => {
                link.remember(keys);
                Asked::Answered(())
            }
            Asked::Refused(reason) => Asked::Refused(reason),
            Asked::Silent => Asked::Silent,
            Asked::Lost => Asked::Lost,
        }
    }

    pub(super) fn forget(&self, link: &Link, need: &Need) {
        for key in self.topology.keys(need) {
            link.forget(&key);
        }
    }

    /// Has an errand done, on as many links as it takes.
    async fn insist(&self, errand: &Errand<'_>) -> Result<Counted> {
        self.check_open()?;
        let patience = self.options.limits.publish_patience;
        let insisting = async {
            let mut generation = 0;
            loop {
                let link = self.links.newer(generation).await?;
                match self.run_on(&link, errand).await {
                    Asked::Answered(answer) => return Ok(answer),
                    Asked::Refused(reason) => {
                        return Err(BusError::Topology { name: self.name_of(errand), reason });
                    }
                    Asked::Silent if errand.may_come_later() => return Ok((0, 0)),
                    Asked::Silent => tokio::time::sleep(ASK_AGAIN).await,
                    Asked::Lost => generation = link.generation,
                }
            }
        };
        match tokio::time::timeout(patience, insisting).await {
            Ok(result) => result,
            Err(_) => Err(BusError::Unavailable { waited: patience, reason: self.links.reason() }),
        }
    }

    async fn run_on(&self, link: &Link, errand: &Errand<'_>) -> Asked<Counted> {
        match errand {
            Errand::Declare(need) => match self.ensure(link, need).await {
                Asked::Answered(()) => Asked::Answered((0, 0)),
                Asked::Refused(reason) => Asked::Refused(reason),
                Asked::Silent => Asked::Silent,
                Asked::Lost => Asked::Lost,
            },
            // A queue that is not there is empty.
            Errand::Count(_) => match self.ask(link, errand).await {
                Asked::Refused(_) => Asked::Answered((0, 0)),
                asked => asked,
            },
            Errand::Bind(..) | Errand::Unbind(..) => self.ask(link, errand).await,
        }
    }

    fn name_of(&self, errand: &Errand<'_>) -> String {
        match errand {
            Errand::Declare(need) => self.topology.name(need),
            Errand::Bind(_, team) | Errand::Unbind(_, team) => team.to_string(),
            Errand::Count(queue) => (*queue).to_owned(),
        }
    }

    pub(super) async fn prepare(&self, need: &Need) -> Result<()> {
        self.insist(&Errand::Declare(need)).await.map(drop)
    }

    pub(super) async fn join(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        let queue = QueueName::agent(agent);
        self.prepare(&Need::Queue(queue.clone())).await?;
        self.prepare(&Need::Team(team.clone())).await?;
        self.insist(&Errand::Bind(&queue, team)).await.map(drop)
    }

    pub(super) async fn leave(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        let queue = QueueName::agent(agent);
        self.prepare(&Need::Queue(queue.clone())).await?;
        self.prepare(&Need::Team(team.clone())).await?;
        self.insist(&Errand::Unbind(&queue, team)).await.map(drop)
    }

    pub(super) async fn depth(&self, name: &QueueName) -> Result<Depth> {
        let mut depth = Depth::default();
        for class in Priority::ALL {
            let (waiting, consumers) = self.count(&self.topology.queue(name, class)).await?;
            depth.waiting[class.rank()] = waiting;
            if class == Priority::Normal {
                depth.consumers = consumers;
            }
        }
        Ok(depth)
    }

    /// How many messages and consumers a queue has, by the broker's name of it.
    pub(super) async fn count(&self, queue: &str) -> Result<Counted> {
        self.insist(&Errand::Count(queue)).await
    }
}

/// Whether the broker refused one thing and the connection goes on.
pub(super) fn is_refusal(error: &lapin::Error) -> bool {
    error.is_amqp_soft_error()
}
