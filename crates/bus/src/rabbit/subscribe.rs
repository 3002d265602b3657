//! Subscribing to a queue: to all its classes on one channel, or, where one of
//! them does not answer, to each on its own, so that the others are served
//! meanwhile and the silent one comes when it can.
//!
//! A broker that recovers may have no leader for one quorum queue for a while.
//! What is asked of that queue blocks the channel it is asked on, and nothing
//! else.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, FuturesUnordered, SelectAll};
use futures_util::{FutureExt, StreamExt, stream};
use lapin::Channel;
use lapin::message::Delivery;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::{FieldTable, ShortString};
use ostler_domain::dispatch::priority::Priority;

use super::Inner;
use super::link::Link;
use super::topology::{ASK_AGAIN, Asked, Need, is_refusal};
use crate::queue::QueueName;

/// What is subscribed to, and how.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) queue: QueueName,
    /// How many messages of each class may be held at once.
    pub(super) prefetch: u16,
}

/// A channel that brings messages of one class or of all.
struct Opened {
    channel: Channel,
    tags: Vec<ShortString>,
    /// `None` when one of its consumers ends.
    arriving: Vec<BoxStream<'static, Option<Delivery>>>,
}

/// A class that is asked until it answers; nothing if the link is lost.
type Coming = BoxFuture<'static, Option<Opened>>;

/// What a consumer takes its messages from.
pub(super) struct Subscription {
    channels: Vec<(Channel, Vec<ShortString>)>,
    arriving: SelectAll<BoxStream<'static, Option<Delivery>>>,
    coming: FuturesUnordered<Coming>,
}

impl Subscription {
    /// Subscribes to all classes; nothing if that has to be tried again.
    pub(super) async fn open(bus: &Arc<Inner>, link: &Arc<Link>, wanted: &Wanted) -> Option<Self> {
        let mut subscription = Self {
            channels: Vec::new(),
            arriving: SelectAll::new(),
            coming: FuturesUnordered::new(),
        };
        match subscribe(bus, link, wanted, None).await {
            Asked::Answered(opened) => subscription.add(opened),
            Asked::Silent => {
                tracing::warn!(queue = %wanted.queue, "a class of the queue does not answer");
                for class in Priority::ALL {
                    let (bus, link) = (Arc::clone(bus), Arc::clone(link));
                    let coming = insist(bus, link, wanted.clone(), class);
                    subscription.coming.push(coming.boxed());
                }
            }
            Asked::Refused(_) | Asked::Lost => return None,
        }
        Some(subscription)
    }

    fn add(&mut self, opened: Opened) {
        self.channels.push((opened.channel, opened.tags));
        self.arriving.extend(opened.arriving);
    }

    /// The next message; nothing when the subscription has ended. Whoever stops
    /// waiting for it loses nothing.
    pub(super) async fn next(&mut self) -> Option<Delivery> {
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
        for (channel, tags) in &mut self.channels {
            for tag in std::mem::take(tags) {
                let cancelling = channel.basic_cancel(tag, BasicCancelOptions::default());
                let _cancelled_or_lost = cancelling.await;
            }
        }
    }

    /// A message that has come already.
    pub(super) fn at_hand(&mut self) -> Option<Delivery> {
        self.arriving.next().now_or_never()??
    }

    pub(super) async fn close(self) {
        for (channel, _) in self.channels {
            let _closed_or_lost = channel.close(200, "done".into()).await;
        }
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
        match subscribe(&bus, &link, &wanted, Some(class)).await {
            Asked::Answered(opened) => return Some(opened),
            Asked::Lost => return None,
            Asked::Silent => {
                let (queue, class) = (&wanted.queue, class.as_str());
                tracing::warn!(%queue, class, "a class of the queue still does not answer");
            }
            Asked::Refused(reason) => {
                let (queue, class) = (&wanted.queue, class.as_str());
                tracing::warn!(%queue, class, reason, "a class of the queue cannot be had");
            }
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

/// Subscribes to a class, or to all, on a new channel.
async fn subscribe(
    bus: &Inner,
    link: &Link,
    wanted: &Wanted,
    class: Option<Priority>,
) -> Asked<Opened> {
    let need = match class {
        Some(class) => Need::Class(wanted.queue.clone(), class),
        None => Need::Queue(wanted.queue.clone()),
    };
    match bus.ensure(link, &need).await {
        Asked::Answered(()) => {}
        Asked::Refused(reason) => return Asked::Refused(reason),
        Asked::Silent => return Asked::Silent,
        Asked::Lost => return Asked::Lost,
    }
    let patience = bus.options.answer_patience;
    match tokio::time::timeout(patience, consume(bus, link, wanted, class)).await {
        Ok(Ok(opened)) => Asked::Answered(opened),
        Ok(Err(error)) if is_refusal(&error) => {
            bus.forget(link, &need);
            Asked::Refused(error.to_string())
        }
        Ok(Err(_)) => {
            link.suspect();
            Asked::Lost
        }
        Err(_) => link.silence(patience).await,
    }
}

async fn consume(
    bus: &Inner,
    link: &Link,
    wanted: &Wanted,
    class: Option<Priority>,
) -> lapin::Result<Opened> {
    let channel = link.connection.create_channel().await?;
    channel.basic_qos(wanted.prefetch, BasicQosOptions::default()).await?;
    let (mut tags, mut arriving) = (Vec::new(), Vec::new());
    for class in Priority::ALL.into_iter().filter(|one| class.is_none_or(|class| class == *one)) {
        let queue = bus.topology.queue(&wanted.queue, class);
        let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
        let consumer = channel.basic_consume(queue.into(), "".into(), options, none).await?;
        tags.push(consumer.tag());
        let end = stream::once(std::future::ready(None));
        arriving.push(consumer.map(Result::ok).chain(end).boxed());
    }
    Ok(Opened { channel, tags, arriving })
}
