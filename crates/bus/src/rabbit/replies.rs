//! The replies to this bus: one queue, one consumer, and each reply goes to
//! the request that waits for it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;

use super::link::Link;
use super::topology::{Asked, Need};
use super::{Inner, letter};
use crate::envelope::Envelope;

/// How many replies may be on their way at once.
const PREFETCH: u16 = 512;
const PAUSE: Duration = Duration::from_millis(50);

/// Takes replies as long as the bus is there.
pub(super) fn start(bus: &Arc<Inner>) {
    tokio::spawn(run(Arc::downgrade(bus)));
}

async fn run(bus: Weak<Inner>) {
    while let Some(inner) = bus.upgrade() {
        let Ok(link) = inner.links.up().await else { return };
        take(&inner, &link).await;
        drop(inner);
        tokio::time::sleep(PAUSE).await;
    }
}

async fn take(bus: &Inner, link: &Link) {
    let need = Need::Replies(bus.reply_to.clone());
    if !matches!(bus.ensure(link, &need).await, Asked::Answered(())) {
        return;
    }
    tokio::select! {
        consumed = consume(bus, link) => {
            if let Err(error) = consumed {
                tracing::debug!(%error, "replies are taken up again");
                bus.forget(link, &need);
            }
        }
        _ = bus.links.newer(link.generation) => {}
    }
}

async fn consume(bus: &Inner, link: &Link) -> lapin::Result<()> {
    let channel = link.connection.create_channel().await?;
    channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
    let queue = bus.topology.replies(&bus.reply_to);
    let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
    let replies = channel.basic_consume(queue.into(), "".into(), options, none).await?;
    // What came together is acked together.
    let mut replies = replies.ready_chunks(PREFETCH.into());
    while let Some(batch) = replies.next().await {
        let mut last = None;
        for delivery in batch {
            let delivery = delivery?;
            match letter::read(&delivery.properties, &delivery.data, &bus.options.limits) {
                Ok(reply) => deliver(bus, reply),
                Err(failure) => tracing::warn!(reason = failure.reason, "a reply cannot be read"),
            }
            last = Some(delivery.delivery_tag);
        }
        if let Some(last) = last {
            channel.basic_ack(last, BasicAckOptions { multiple: true }).await?;
        }
    }
    Ok(())
}

fn deliver(bus: &Inner, reply: Arc<Envelope>) {
    let id = reply.message.id;
    if !bus.replies.deliver(reply) {
        tracing::debug!(%id, "nobody waits for this reply");
    }
}
