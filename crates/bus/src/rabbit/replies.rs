//! The replies to the requests of this bus: one queue with one consumer, which
//! passes each reply to its request.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;

use super::connection::BrokerConnection;
use super::topology::{BrokerReply, Declaration};
use super::{Inner, wire};
use crate::envelope::Envelope;

/// Maximum number of replies without an ack.
const PREFETCH: u16 = 512;
const RECONNECT_DELAY: Duration = Duration::from_millis(50);

/// Consumes replies until the bus is dropped.
pub(super) fn start(bus: &Arc<Inner>) {
    tokio::spawn(run(Arc::downgrade(bus)));
}

async fn run(bus: Weak<Inner>) {
    while let Some(inner) = bus.upgrade() {
        let Ok(connection) = inner.connector.current().await else { return };
        consume_replies(&inner, &connection).await;
        drop(inner);
        tokio::time::sleep(RECONNECT_DELAY).await;
    }
}

async fn consume_replies(bus: &Inner, connection: &BrokerConnection) {
    let declaration = Declaration::Replies(bus.reply_to.clone());
    if !matches!(bus.ensure_declared(connection, &declaration).await, BrokerReply::Answered(())) {
        return;
    }
    tokio::select! {
        result = consume_channel(bus, connection) => {
            if let Err(error) = result {
                tracing::debug!(%error, "reply consumer ended, will restart");
                bus.forget_declared(connection, &declaration);
            }
        }
        _ = bus.connector.newer_than(connection.generation) => {}
    }
}

async fn consume_channel(bus: &Inner, connection: &BrokerConnection) -> lapin::Result<()> {
    let channel = connection.amqp.create_channel().await?;
    channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
    let queue = bus.topology.replies(&bus.reply_to);
    let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
    let replies = channel.basic_consume(queue.into(), "".into(), options, none).await?;
    // Replies that arrive together are acked together.
    let mut replies = replies.ready_chunks(PREFETCH.into());
    while let Some(batch) = replies.next().await {
        let mut last = None;
        for delivery in batch {
            let delivery = delivery?;
            match wire::decode(&delivery.properties, &delivery.data, &bus.options.limits) {
                Ok(reply) => deliver(bus, reply),
                Err(failure) => tracing::warn!(reason = failure.reason, "unreadable reply dropped"),
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
        tracing::debug!(%id, "reply dropped: no request is waiting");
    }
}
