//! The end of a delivery: ack, or a dead letter and then ack.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lapin::options::{BasicAckOptions, BasicNackOptions};
use lapin::types::DeliveryTag;
use lapin::{BasicProperties, Channel};
use ostler_domain::id::EnvelopeId;
use tokio::sync::watch;

use super::publish::{Outgoing, Sent};
use super::topology::Need;
use super::{Inner, letter};
use crate::bus::{Failure, Verdict};
use crate::dead::Death;
use crate::id::now;
use crate::queue::QueueName;

/// How many settled messages are remembered.
const REMEMBERED: usize = 4096;
/// How long writing an ack may take.
const ACK_PATIENCE: Duration = Duration::from_secs(5);
/// How long full dead letters are left alone.
const FULL_WAIT: Duration = Duration::from_millis(100);

/// One sending of a message: which, and when. A dead letter that is put back
/// and a plan that was approved are sent again under their old id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sending(EnvelopeId, Option<u64>);

/// What a consumer settled. An ack that was lost with its connection brings its
/// message again; then it is acked, and not handled.
#[derive(Default)]
pub(super) struct Settled(Mutex<(HashSet<Sending>, VecDeque<Sending>)>);

impl Settled {
    fn insert(&self, sending: Sending) {
        let mut both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, order) = &mut *both;
        if known.insert(sending) {
            order.push_back(sending);
        }
        while order.len() > REMEMBERED {
            if let Some(oldest) = order.pop_front() {
                known.remove(&oldest);
            }
        }
    }

    /// Whether this comes again although it is settled. What the broker brings
    /// for the first time is not.
    pub(super) fn knows(&self, sending: Sending, redelivered: bool) -> bool {
        let mut both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, order) = &mut *both;
        if !redelivered && known.remove(&sending) {
            order.retain(|one| *one != sending);
        }
        known.contains(&sending)
    }
}

/// A delivery that waits for its end.
pub(super) struct Open {
    pub(super) id: EnvelopeId,
    pub(super) queue: QueueName,
    pub(super) attempt: u32,
    pub(super) properties: BasicProperties,
    pub(super) body: Vec<u8>,
    /// Where it came from, and its number there. An ack on the channel itself
    /// is on its way at once; one by lapin's `Acker` goes through two tasks.
    pub(super) channel: Arc<Channel>,
    pub(super) delivery_tag: DeliveryTag,
}

impl Open {
    pub(super) fn sending(&self) -> Sending {
        Sending(self.id, *self.properties.timestamp())
    }

    /// Whether the broker would hear of it: otherwise the message comes again.
    pub(super) fn can_be_settled(&self) -> bool {
        self.channel.status().connected()
    }

    pub(super) async fn ack(&self) {
        // If it fails, the message comes again and is known as settled.
        let acking = self.channel.basic_ack(self.delivery_tag, BasicAckOptions::default());
        let _lost = tokio::time::timeout(ACK_PATIENCE, acking).await;
    }

    /// Gives the message back.
    pub(super) async fn give_back(&self) {
        let options = BasicNackOptions { multiple: false, requeue: true };
        let nacking = self.channel.basic_nack(self.delivery_tag, options);
        let _comes_anyway = tokio::time::timeout(ACK_PATIENCE, nacking).await;
    }
}

/// Ends a delivery as its verdict says. False if it is to be handled again.
pub(super) async fn settle(
    bus: &Inner,
    open: &Open,
    verdict: Verdict,
    settled: &Settled,
    stopping: &watch::Receiver<bool>,
) -> bool {
    match verdict {
        Verdict::Done => {
            settled.insert(open.sending());
            open.ack().await;
        }
        Verdict::Again(_) if open.attempt < bus.options.limits.attempts => return false,
        Verdict::Again(failure) | Verdict::Dead(failure) => {
            if bury(bus, open, failure, stopping).await {
                settled.insert(open.sending());
                open.ack().await;
            } else {
                open.give_back().await;
            }
        }
    }
    true
}

/// Has the broker confirm a dead letter. False if that is not possible before
/// the consumer stops, or if the message comes again anyway.
async fn bury(
    bus: &Inner,
    open: &Open,
    failure: Failure,
    stopping: &watch::Receiver<bool>,
) -> bool {
    tracing::warn!(
        queue = %open.queue, id = %open.id, class = %failure.class, reason = failure.reason,
        "dead letter"
    );
    let death = Death {
        queue: open.queue.clone(),
        class: failure.class,
        reason: failure.reason,
        attempts: open.attempt,
        at: now(),
    };
    let out = Outgoing {
        exchange: bus.topology.dead(),
        routing_key: String::new(),
        mandatory: true,
        need: Need::Dead,
        properties: letter::dead_properties(&open.properties, &death),
        body: &open.body,
    };
    loop {
        // The link of this delivery is lost: whoever gets the message next
        // decides, and not both.
        if !open.can_be_settled() {
            return false;
        }
        if let Ok(Sent::Confirmed) = bus.send(&out, bus.deadline()).await {
            return true;
        }
        if *stopping.borrow() || bus.check_open().is_err() {
            return false;
        }
        tokio::time::sleep(FULL_WAIT).await;
    }
}
