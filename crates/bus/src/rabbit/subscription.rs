//! The subscription of a consumer: one channel per priority class.
//!
//! After a crash the broker may have no leader for one of the quorum queues for
//! a while. A request for that queue blocks the whole channel it was sent on.
//! With a channel of its own per class, the other classes are served meanwhile,
//! and the blocked one joins when it answers. A consumer that is closed before
//! the answer arrives cancels the late subscription.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::{BoxStream, FuturesUnordered, SelectAll};
use futures_util::{FutureExt, StreamExt, stream};
use lapin::Channel;
use lapin::message::Delivery;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::{FieldTable, ShortString};
use ostler_domain::queue_agent::priority::Priority;
use tokio::sync::oneshot;

use super::Inner;
use super::connection::BrokerConnection;
use super::topology::{BrokerReply, Declaration, RETRY_DELAY, is_refusal};
use crate::queue::QueueName;

/// How long to wait for all classes before the first message is taken, so that
/// the most urgent one is among the candidates.
const ALL_CLASSES_TIMEOUT: Duration = Duration::from_secs(2);

/// The queue and prefetch of a subscription.
#[derive(Clone)]
pub(super) struct SubscriptionOptions {
    pub(super) queue: QueueName,
    /// Maximum number of unsettled messages per priority class.
    pub(super) prefetch: u16,
}

/// A delivery and the channel it has to be settled on.
pub(super) type ChannelDelivery = (Arc<Channel>, Delivery);

/// A channel that delivers the messages of one class.
struct ClassSubscription {
    channel: Arc<Channel>,
    tag: ShortString,
    /// Yields `None` when the consumer ends.
    deliveries: BoxStream<'static, Option<ChannelDelivery>>,
}

/// Resolves when the broker has answered for one class; `None` if the
/// connection is lost.
type PendingSubscription = BoxFuture<'static, Option<ClassSubscription>>;

/// The broker's answer to one subscribe request.
type SubscribeReply = oneshot::Receiver<lapin::Result<ClassSubscription>>;

/// The source of a consumer's messages.
pub(super) struct Subscription {
    channels: Vec<(Arc<Channel>, ShortString)>,
    deliveries: SelectAll<BoxStream<'static, Option<ChannelDelivery>>>,
    pending: FuturesUnordered<PendingSubscription>,
}

impl Subscription {
    /// Subscribes to all classes; returns `None` if the connection is lost.
    pub(super) async fn open(
        bus: &Arc<Inner>,
        connection: &Arc<BrokerConnection>,
        options: &SubscriptionOptions,
    ) -> Option<Self> {
        let (channels, deliveries) = (Vec::new(), SelectAll::new());
        let pending = Priority::ALL.into_iter().map(|class| {
            subscribe_with_retry(Arc::clone(bus), Arc::clone(connection), options.clone(), class)
                .boxed()
        });
        let mut subscription = Self { channels, deliveries, pending: pending.collect() };
        match tokio::time::timeout(ALL_CLASSES_TIMEOUT, subscription.wait_for_all()).await {
            Ok(None) => return None,
            Ok(Some(())) => {}
            Err(_) => {
                let (queue, answered) = (&options.queue, subscription.channels.len());
                tracing::warn!(%queue, answered, "not all priority classes of the queue answered");
            }
        }
        Some(subscription)
    }

    /// Waits for all classes; returns `None` if the connection is lost.
    async fn wait_for_all(&mut self) -> Option<()> {
        while let Some(subscribed) = self.pending.next().await {
            self.add(subscribed?);
        }
        Some(())
    }

    fn add(&mut self, subscribed: ClassSubscription) {
        self.channels.push((subscribed.channel, subscribed.tag));
        self.deliveries.push(subscribed.deliveries);
    }

    /// Returns the next message, or `None` when the subscription has ended.
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Option<ChannelDelivery> {
        loop {
            tokio::select! {
                Some(subscribed) = self.pending.next() => self.add(subscribed?),
                Some(next) = self.deliveries.next() => return next,
                else => return None,
            }
        }
    }

    /// Stops further deliveries.
    pub(super) async fn cancel(&mut self) {
        self.pending.clear();
        let cancelling = self
            .channels
            .iter()
            .map(|(channel, tag)| channel.basic_cancel(tag.clone(), BasicCancelOptions::default()));
        let _cancelled_or_lost = join_all(cancelling).await;
    }

    /// Returns a message that has already been delivered.
    pub(super) fn try_next(&mut self) -> Option<ChannelDelivery> {
        self.deliveries.next().now_or_never()??
    }

    pub(super) async fn close(self) {
        let closing = self.channels.iter().map(|(channel, _)| channel.close(200, "done".into()));
        let _closed_or_lost = join_all(closing).await;
    }
}

/// Retries until the broker answers for this class.
async fn subscribe_with_retry(
    bus: Arc<Inner>,
    connection: Arc<BrokerConnection>,
    options: SubscriptionOptions,
    class: Priority,
) -> Option<ClassSubscription> {
    for attempt in 1_u64.. {
        // A lasting failure is logged at once and then ever more seldom.
        let is_logged = attempt.is_power_of_two();
        match subscribe(&bus, &connection, &options, class).await {
            BrokerReply::Answered(subscribed) => return Some(subscribed),
            BrokerReply::ConnectionLost => return None,
            BrokerReply::TimedOut if is_logged => warn_no_answer(&options, class),
            BrokerReply::TimedOut => {}
            BrokerReply::Refused(_) if !is_logged => {}
            BrokerReply::Refused(reason) => {
                let (queue, class) = (&options.queue, class.as_str());
                tracing::warn!(%queue, class, reason, "subscription to a priority class refused, will retry");
            }
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
    None
}

fn warn_no_answer(options: &SubscriptionOptions, class: Priority) {
    let (queue, class) = (&options.queue, class.as_str());
    tracing::warn!(%queue, class, "a priority class of the queue does not answer, still waiting");
}

/// Subscribes to a class on a new channel. Waits as long as the connection
/// lives, because the broker answers eventually and a second request would
/// create a second consumer.
async fn subscribe(
    bus: &Arc<Inner>,
    connection: &Arc<BrokerConnection>,
    options: &SubscriptionOptions,
    class: Priority,
) -> BrokerReply<ClassSubscription> {
    let declaration = Declaration::Class(options.queue.clone(), class);
    if let Err(failed) = bus.ensure_declared(connection, &declaration).await.answered() {
        return failed;
    }
    let timeout = bus.options.broker_timeout;
    let queue = bus.topology.queue(&options.queue, class);
    let mut answer = spawn_subscribe(Arc::clone(connection), queue, options.prefetch);
    loop {
        match tokio::time::timeout(timeout, &mut answer).await {
            Ok(Ok(Ok(subscribed))) => return BrokerReply::Answered(subscribed),
            Ok(Ok(Err(error))) if is_refusal(&error) => {
                bus.forget_declared(connection, &declaration);
                return BrokerReply::Refused(error.to_string());
            }
            Ok(_) => {
                connection.mark_lost();
                return BrokerReply::ConnectionLost;
            }
            Err(_) => match connection.probe::<ClassSubscription>(timeout).await {
                BrokerReply::ConnectionLost => return BrokerReply::ConnectionLost,
                _ => warn_no_answer(options, class),
            },
        }
    }
}

/// Subscribes in a separate task, which receives the answer even if the caller
/// is gone and then closes the channel. Otherwise lapin would keep a consumer
/// whose messages are never read.
fn spawn_subscribe(
    connection: Arc<BrokerConnection>,
    queue: String,
    prefetch: u16,
) -> SubscribeReply {
    let (reply, receiver) = oneshot::channel();
    tokio::spawn(async move {
        if let Err(Ok(unwanted)) = reply.send(consume(&connection, queue, prefetch).await) {
            let _closed_or_lost = unwanted.channel.close(200, "no longer needed".into()).await;
        }
    });
    receiver
}

async fn consume(
    connection: &BrokerConnection,
    queue: String,
    prefetch: u16,
) -> lapin::Result<ClassSubscription> {
    let channel = connection.amqp.create_channel().await?;
    channel.basic_qos(prefetch, BasicQosOptions::default()).await?;
    let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
    let consumer = channel.basic_consume(queue.into(), "".into(), options, none).await?;
    let tag = consumer.tag();
    let channel = Arc::new(channel);
    let through = Arc::clone(&channel);
    let end = stream::once(std::future::ready(None));
    let streams = consumer.map(move |next| Some((Arc::clone(&through), next.ok()?)));
    let deliveries = streams.chain(end).boxed();
    Ok(ClassSubscription { channel, tag, deliveries })
}
