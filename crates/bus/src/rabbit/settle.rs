//! Settles deliveries: ack, requeue, or dead letter and then ack.
//!
//! A dead letter is confirmed by the broker before the original message is
//! acked, so that neither is lost.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lapin::options::{BasicAckOptions, BasicNackOptions};
use lapin::types::DeliveryTag;
use lapin::{BasicProperties, Channel};
use ostler_domain::id::EnvelopeId;
use tokio::sync::watch;

use super::publish::{OutgoingMessage, PublishOutcome};
use super::topology::Declaration;
use super::{Inner, wire};
use crate::bus::{Disposition, Failure};
use crate::dead_letter::DeadLetterCause;
use crate::id::now;
use crate::queue::QueueName;

/// Maximum number of settled messages remembered.
const MAX_REMEMBERED: usize = 4096;
/// How long sending an ack may take.
const ACK_TIMEOUT: Duration = Duration::from_secs(5);
/// The delay before a full dead-letter queue is tried again.
const FULL_DELAY: Duration = Duration::from_millis(100);

/// One publication of a message: its id and time of publishing. A replayed dead
/// letter and a message with an approved plan are published again under their
/// old id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PublicationId(EnvelopeId, Option<u64>);

/// The messages that a consumer has settled. If an ack is lost with its
/// connection, the broker redelivers the message; it is then acked without
/// being handled.
#[derive(Default)]
pub(super) struct SettledMessages(Mutex<(HashSet<PublicationId>, VecDeque<PublicationId>)>);

impl SettledMessages {
    fn insert(&self, publication: PublicationId) {
        let mut both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, order) = &mut *both;
        if known.insert(publication) {
            order.push_back(publication);
        }
        while order.len() > MAX_REMEMBERED {
            if let Some(oldest) = order.pop_front() {
                known.remove(&oldest);
            }
        }
    }

    /// Returns whether this publication was already settled. A first delivery
    /// never was.
    pub(super) fn is_repeat(&self, publication: PublicationId, redelivered: bool) -> bool {
        let mut both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, order) = &mut *both;
        if !redelivered && known.remove(&publication) {
            order.retain(|other| *other != publication);
        }
        known.contains(&publication)
    }
}

/// A delivery that is not settled yet.
pub(super) struct UnsettledDelivery {
    pub(super) id: EnvelopeId,
    pub(super) queue: QueueName,
    pub(super) attempt: u32,
    pub(super) properties: BasicProperties,
    pub(super) body: Vec<u8>,
    /// The channel it was received on, and its tag there. An ack on the channel
    /// itself is sent at once; lapin's `Acker` goes through two tasks.
    pub(super) channel: Arc<Channel>,
    pub(super) delivery_tag: DeliveryTag,
}

impl UnsettledDelivery {
    pub(super) fn publication(&self) -> PublicationId {
        PublicationId(self.id, *self.properties.timestamp())
    }

    /// Returns whether the channel is open. Otherwise the broker redelivers the
    /// message.
    pub(super) fn can_be_settled(&self) -> bool {
        self.channel.status().connected()
    }

    pub(super) async fn ack(&self) {
        // If the ack is lost, the redelivered message is recognised as settled.
        let acking = self.channel.basic_ack(self.delivery_tag, BasicAckOptions::default());
        let _lost = tokio::time::timeout(ACK_TIMEOUT, acking).await;
    }

    /// Returns the message to its queue.
    pub(super) async fn requeue(&self) {
        let options = BasicNackOptions { multiple: false, requeue: true };
        let nacking = self.channel.basic_nack(self.delivery_tag, options);
        let _redelivered_anyway = tokio::time::timeout(ACK_TIMEOUT, nacking).await;
    }
}

/// Settles a delivery. Returns `false` if the message has to be handled again.
pub(super) async fn settle(
    bus: &Inner,
    delivery: &UnsettledDelivery,
    disposition: Disposition,
    settled: &SettledMessages,
    stopping: &watch::Receiver<bool>,
) -> bool {
    match disposition {
        Disposition::Done => {
            settled.insert(delivery.publication());
            delivery.ack().await;
        }
        Disposition::Retry(_) if delivery.attempt < bus.options.limits.max_attempts => {
            return false;
        }
        Disposition::Retry(failure) | Disposition::DeadLetter(failure) => {
            if dead_letter(bus, delivery, failure, stopping).await {
                settled.insert(delivery.publication());
                delivery.ack().await;
            } else {
                delivery.requeue().await;
            }
        }
    }
    true
}

/// Publishes a dead letter and waits for the confirm. Returns `false` if that
/// is not possible before the consumer stops, or if the message is redelivered
/// anyway.
async fn dead_letter(
    bus: &Inner,
    delivery: &UnsettledDelivery,
    failure: Failure,
    stopping: &watch::Receiver<bool>,
) -> bool {
    tracing::warn!(
        queue = %delivery.queue, id = %delivery.id, class = %failure.class, reason = failure.reason,
        "message became a dead letter"
    );
    let cause = DeadLetterCause {
        queue: delivery.queue.clone(),
        class: failure.class,
        reason: failure.reason,
        attempts: delivery.attempt,
        at: now(),
    };
    let message = OutgoingMessage {
        exchange: bus.topology.dead_letters(),
        routing_key: String::new(),
        mandatory: true,
        declaration: Declaration::DeadLetters,
        properties: wire::dead_letter_properties(&delivery.properties, &cause),
        body: &delivery.body,
    };
    loop {
        // The broker redelivers the message on another connection; that
        // delivery decides.
        if !delivery.can_be_settled() {
            return false;
        }
        if let Ok(PublishOutcome::Confirmed) = bus.publish_confirmed(&message, bus.deadline()).await
        {
            return true;
        }
        if *stopping.borrow() || bus.check_open().is_err() {
            return false;
        }
        tokio::time::sleep(FULL_DELAY).await;
    }
}
