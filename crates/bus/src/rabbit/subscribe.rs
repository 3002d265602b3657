//! Subscribing to a queue: to each of its classes on a channel of its own, so
//! that one which does not answer keeps none of the others waiting, and comes
//! when it can.
//!
//! A broker that recovers may have no leader for one quorum queue for a while.
//! What is asked of that queue blocks the whole channel it is asked on, with all
//! that others would be sent through it, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::{BoxStream, FuturesUnordered, SelectAll};
use futures_util::{FutureExt, StreamExt, stream};
use lapin::Channel;
use lapin::message::Delivery;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::{FieldTable, ShortString};
use ostler_domain::dispatch::priority::Priority;
use tokio::sync::oneshot;

use super::Inner;
use super::link::Link;
use super::topology::{ASK_AGAIN, Asked, Need, is_refusal};
use crate::queue::QueueName;

/// How long all classes are waited for before the first message is taken, so
/// that the most pressing is among those to choose from.
const ALL_WITHIN: Duration = Duration::from_secs(2);

/// What is subscribed to, and how.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) queue: QueueName,
    /// How many messages of each class may be held at once.
    pub(super) prefetch: u16,
}

/// A message with the channel that it came through, and is settled on.
pub(super) type Arriving = (Arc<Channel>, Delivery);

/// A channel that brings the messages of one class.
struct Opened {
    channel: Arc<Channel>,
    tag: ShortString,
    /// `None` when its consumer ends.
    arriving: BoxStream<'static, Option<Arriving>>,
}

/// A class that is asked until it answers; nothing if the link is lost.
type Coming = BoxFuture<'static, Option<Opened>>;

/// The broker's answer to one class.
type Answer = oneshot::Receiver<lapin::Result<Opened>>;

/// What a consumer takes its messages from.
pub(super) struct Subscription {
    channels: Vec<(Arc<Channel>, ShortString)>,
    arriving: SelectAll<BoxStream<'static, Option<Arriving>>>,
    coming: FuturesUnordered<Coming>,
}

impl Subscription {
    /// Subscribes to all classes; nothing if the link is lost.
    pub(super) async fn open(bus: &Arc<Inner>, link: &Arc<Link>, wanted: &Wanted) -> Option<Self> {
        let (channels, arriving) = (Vec::new(), SelectAll::new());
        let each = Priority::ALL
            .into_iter()
            .map(|class| insist(Arc::clone(bus), Arc::clone(link), wanted.clone(), class).boxed());
        let mut subscription = Self { channels, arriving, coming: each.collect() };
        match tokio::time::timeout(ALL_WITHIN, subscription.all()).await {
            Ok(None) => return None,
            Ok(Some(())) => {}
            Err(_) => {
                let (queue, answered) = (&wanted.queue, subscription.channels.len());
                tracing::warn!(%queue, answered, "not all classes of the queue answer");
            }
        }
        Some(subscription)
    }

    /// Waits for all classes; nothing if the link is lost.
    async fn all(&mut self) -> Option<()> {
        while let Some(opened) = self.coming.next().await {
            self.add(opened?);
        }
        Some(())
    }

    fn add(&mut self, opened: Opened) {
        self.channels.push((opened.channel, opened.tag));
        self.arriving.push(opened.arriving);
    }

    /// The next message; nothing when the subscription has ended. Whoever stops
    /// waiting for it loses nothing.
    pub(super) async fn next(&mut self) -> Option<Arriving> {
        loop {
            tokio::select! {
                Some(opened) = self.coming.next() => self.add(opened?),
                Some(next) = self.arriving.next() => return next,
                else => return None,
            }
        }
    }

    /// Has no more messages sent.
    pub(super) async fn cancel(&mut self) {
        self.coming.clear();
        let each = self
            .channels
            .iter()
            .map(|(channel, tag)| channel.basic_cancel(tag.clone(), BasicCancelOptions::default()));
        let _cancelled_or_lost = join_all(each).await;
    }

    /// A message that has come already.
    pub(super) fn at_hand(&mut self) -> Option<Arriving> {
        self.arriving.next().now_or_never()??
    }

    pub(super) async fn close(self) {
        let each = self.channels.iter().map(|(channel, _)| channel.close(200, "done".into()));
        let _closed_or_lost = join_all(each).await;
    }
}

/// Asks one class until it answers.
async fn insist(
    bus: Arc<Inner>,
    link: Arc<Link>,
    wanted: Wanted,
    class: Priority,
) -> Option<Opened> {
    loop {
        match subscribe(&bus, &link, &wanted, class).await {
            Asked::Answered(opened) => return Some(opened),
            Asked::Lost => return None,
            Asked::Silent => tell_silence(&wanted, class),
            Asked::Refused(reason) => {
                let (queue, class) = (&wanted.queue, class.as_str());
                tracing::warn!(%queue, class, reason, "a class of the queue cannot be had");
            }
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

fn tell_silence(wanted: &Wanted, class: Priority) {
    let (queue, class) = (&wanted.queue, class.as_str());
    tracing::warn!(%queue, class, "a class of the queue does not answer");
}

/// Subscribes to a class on a new channel. It waits as long as the link lives:
/// the broker answers in the end, and to ask twice would make two consumers.
async fn subscribe(
    bus: &Arc<Inner>,
    link: &Arc<Link>,
    wanted: &Wanted,
    class: Priority,
) -> Asked<Opened> {
    let need = Need::Class(wanted.queue.clone(), class);
    match bus.ensure(link, &need).await {
        Asked::Answered(()) => {}
        Asked::Refused(reason) => return Asked::Refused(reason),
        Asked::Silent => return Asked::Silent,
        Asked::Lost => return Asked::Lost,
    }
    let patience = bus.options.answer_patience;
    let queue = bus.topology.queue(&wanted.queue, class);
    let mut answer = ask(Arc::clone(link), queue, wanted.prefetch);
    loop {
        match tokio::time::timeout(patience, &mut answer).await {
            Ok(Ok(Ok(opened))) => return Asked::Answered(opened),
            Ok(Ok(Err(error))) if is_refusal(&error) => {
                bus.forget(link, &need);
                return Asked::Refused(error.to_string());
            }
            Ok(_) => {
                link.suspect();
                return Asked::Lost;
            }
            Err(_) => match link.silence::<Opened>(patience).await {
                Asked::Lost => return Asked::Lost,
                _ => tell_silence(wanted, class),
            },
        }
    }
}

/// Asks in a task of its own, which sees the answer even if nobody waits for it
/// any more: lapin does not end a consumer that nobody waited for, and the broker
/// would send it messages that nobody takes.
fn ask(link: Arc<Link>, queue: String, prefetch: u16) -> Answer {
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        if let Err(Ok(unwanted)) = tell.send(consume(&link, queue, prefetch).await) {
            let _closed_or_lost = unwanted.channel.close(200, "not wanted any more".into()).await;
        }
    });
    told
}

async fn consume(link: &Link, queue: String, prefetch: u16) -> lapin::Result<Opened> {
    let channel = link.connection.create_channel().await?;
    channel.basic_qos(prefetch, BasicQosOptions::default()).await?;
    let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
    let consumer = channel.basic_consume(queue.into(), "".into(), options, none).await?;
    let tag = consumer.tag();
    let channel = Arc::new(channel);
    let through = Arc::clone(&channel);
    let end = stream::once(std::future::ready(None));
    let each = consumer.map(move |next| Some((Arc::clone(&through), next.ok()?)));
    let arriving = each.chain(end).boxed();
    Ok(Opened { channel, tag, arriving })
}
