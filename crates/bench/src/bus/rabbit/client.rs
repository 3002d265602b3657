//! The limit on RabbitMQ: the bare AMQP client. It moves the same bytes without
//! parsing them and does not reconnect.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, ExchangeDeleteOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use ostler_bus::QueueLimits;
use tokio::sync::oneshot;

use crate::BenchError;
use crate::bus::agents;
use crate::bus::load::LoadTarget;

/// Prefetch of replies, as on the bus.
const REPLY_PREFETCH: u16 = 512;
/// Suffixes of the queues of each priority class.
const CLASS_SUFFIXES: [&str; 4] = ["", ":critical", ":high", ":low"];

/// How requests are consumed.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) queues: usize,
    /// Per queue; the prefetch is one more.
    pub(super) concurrency: u16,
}

type PendingReplies = Mutex<HashMap<String, oneshot::Sender<()>>>;

/// A bare client that sends requests and replies to them.
pub(super) struct Client {
    connection: Connection,
    publisher: Channel,
    prefix: String,
    queues: Vec<String>,
    answers: String,
    body: Vec<u8>,
    asked: AtomicU64,
    waiting: Arc<PendingReplies>,
}

impl Client {
    pub(super) async fn open(
        url: &str,
        prefix: &str,
        shape: Shape,
        body: Vec<u8>,
    ) -> Result<Self, BenchError> {
        let connection = Connection::connect(url, ConnectionProperties::default()).await?;
        let publisher = connection.create_channel().await?;
        publisher.confirm_select(ConfirmSelectOptions::default()).await?;
        let answers = format!("{prefix}bare-answers");
        declare(&publisher, &answers, bounded()).await?;
        let waiting = Arc::<PendingReplies>::default();
        consume_replies(&connection, &answers, Arc::clone(&waiting)).await?;
        let queues: Vec<_> = (0..shape.queues).map(|n| format!("{prefix}bare-{n}")).collect();
        for queue in &queues {
            declare(&publisher, queue, quorum(prefix)).await?;
            serve_requests(&connection, &publisher, queue, shape).await?;
        }
        let (prefix, asked) = (prefix.to_owned(), AtomicU64::new(0));
        Ok(Self { connection, publisher, prefix, queues, answers, body, asked, waiting })
    }

    /// Deletes the queues of this client and of the bus.
    pub(super) async fn clean(&self, shape: Shape) -> Result<(), BenchError> {
        let channel = self.connection.create_channel().await?;
        let Shape { queues, .. } = shape;
        let own = format!("agent.{}", agents::name(0)?);
        let shared = (0..queues).map(|number| format!("hosted.{queues}.{number}"));
        let classes = shared
            .chain([own])
            .flat_map(|queue| CLASS_SUFFIXES.map(|class| format!("{}{queue}{class}", self.prefix)));
        let dead = format!("{}ostler.dead", self.prefix);
        let bare = self.queues.iter().chain([&self.answers, &dead]).cloned();
        for queue in classes.chain(bare) {
            channel.queue_delete(queue.into(), QueueDeleteOptions::default()).await?;
        }
        channel.exchange_delete(dead.into(), ExchangeDeleteOptions::default()).await?;
        // The channel may already be closed.
        let _ends_anyway = self.connection.close(200, "done".into()).await;
        Ok(())
    }
}

impl LoadTarget for Client {
    async fn ask(&self, number: usize) -> Result<(), BenchError> {
        let id = self.asked.fetch_add(1, Ordering::Relaxed).to_string();
        let (tell, answered) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), tell);
        let properties = BasicProperties::default()
            .with_delivery_mode(2)
            .with_correlation_id(id.into())
            .with_reply_to(self.answers.as_str().into());
        let queue = self.queues[number % self.queues.len()].as_str();
        publish(&self.publisher, queue.into(), &self.body, properties).await?;
        answered.await.map_err(|_| BenchError::NoReply)
    }
}

/// Publishes and waits for the confirm.
async fn publish(
    channel: &Channel,
    queue: ShortString,
    body: &[u8],
    properties: BasicProperties,
) -> lapin::Result<()> {
    let options = BasicPublishOptions { mandatory: true, immediate: false };
    channel.basic_publish("".into(), queue, options, body, properties).await?.await?;
    Ok(())
}

/// Consumes replies and wakes their requests.
async fn consume_replies(
    connection: &Connection,
    queue: &str,
    waiting: Arc<PendingReplies>,
) -> Result<(), BenchError> {
    let mut deliveries = consume(connection, queue, REPLY_PREFETCH).await?;
    tokio::spawn(async move {
        while let Some(Ok(delivery)) = deliveries.next().await {
            if let Some(id) = delivery.properties.correlation_id() {
                let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let told = waiting.remove(id.as_str()).map(|tell| tell.send(()));
                drop((waiting, told));
            }
            let _lost = delivery.acker.ack(BasicAckOptions::default()).await;
        }
    });
    Ok(())
}

/// Replies to requests with this concurrency.
async fn serve_requests(
    connection: &Connection,
    publisher: &Channel,
    queue: &str,
    shape: Shape,
) -> Result<(), BenchError> {
    let deliveries = consume(connection, queue, shape.concurrency.saturating_add(1)).await?;
    let publisher = publisher.clone();
    tokio::spawn(async move {
        let each = deliveries.map(|delivery| reply(&publisher, delivery));
        each.buffer_unordered(shape.concurrency.into()).for_each(|_| std::future::ready(())).await;
    });
    Ok(())
}

async fn reply(publisher: &Channel, delivery: lapin::Result<Delivery>) -> lapin::Result<()> {
    let delivery = delivery?;
    let properties = delivery.properties.clone();
    if let Some(to) = delivery.properties.reply_to().clone() {
        publish(publisher, to, &delivery.data, properties).await?;
    }
    delivery.acker.ack(BasicAckOptions::default()).await?;
    Ok(())
}

async fn consume(
    connection: &Connection,
    queue: &str,
    ahead: u16,
) -> Result<lapin::Consumer, BenchError> {
    let channel = connection.create_channel().await?;
    channel.basic_qos(ahead, BasicQosOptions::default()).await?;
    let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
    Ok(channel.basic_consume(queue.into(), "".into(), options, none).await?)
}

async fn declare(channel: &Channel, queue: &str, arguments: FieldTable) -> lapin::Result<()> {
    let durable = QueueDeclareOptions::durable();
    channel.queue_declare(queue.into(), durable, arguments).await?;
    Ok(())
}

fn bounded() -> FieldTable {
    let length = i32::try_from(QueueLimits::default().queue_length).unwrap_or(i32::MAX);
    let mut arguments = FieldTable::default();
    arguments.insert("x-max-length".into(), AMQPValue::LongInt(length));
    arguments.insert("x-overflow".into(), AMQPValue::LongString("reject-publish".into()));
    arguments
}

/// Arguments of the bus's quorum queues, with their dead-letter exchange.
fn quorum(prefix: &str) -> FieldTable {
    let attempts = i32::try_from(QueueLimits::default().max_attempts).unwrap_or(i32::MAX);
    let dead = format!("{prefix}ostler.dead");
    let mut arguments = bounded();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    arguments.insert("x-delivery-limit".into(), AMQPValue::LongInt(attempts));
    arguments.insert("x-dead-letter-exchange".into(), AMQPValue::LongString(dead.into()));
    let strategy = AMQPValue::LongString("at-least-once".into());
    arguments.insert("x-dead-letter-strategy".into(), strategy);
    arguments
}
