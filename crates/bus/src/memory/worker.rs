//! A worker of a consumer: takes a message, runs the handler, settles the
//! message.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Shared;
use super::queue::{Queue, QueuedMessage};
use crate::bus::{ConsumeOptions, Delivery, Disposition, Failure, Handler, run_handler};
use crate::dead_letter::{DeadLetter, DeadLetterCause};
use crate::id::now;

pub(super) struct Worker {
    pub(super) bus: Arc<Shared>,
    pub(super) queue: Arc<Queue>,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) options: Arc<ConsumeOptions>,
    pub(super) stopping: Arc<AtomicBool>,
    pub(super) _registration: Arc<ConsumerRegistration>,
}

/// Counts a consumer until the last of its workers is dropped.
pub(super) struct ConsumerRegistration(Arc<Queue>);

impl ConsumerRegistration {
    pub(super) fn new(queue: &Arc<Queue>) -> Arc<Self> {
        queue.consumers.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self(Arc::clone(queue)))
    }
}

impl Drop for ConsumerRegistration {
    fn drop(&mut self) {
        self.0.consumers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Worker {
    pub(super) async fn run(self) {
        loop {
            // Created before the check, so that a wake-up in between is not
            // lost.
            let wake = self.queue.ready.notified();
            if self.is_stopping() {
                break;
            }
            match self.queue.take() {
                Some(message) => self.work(message).await,
                None => wake.await,
            }
        }
        // This worker may have consumed a wake-up meant for another.
        self.queue.ready.notify_one();
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    async fn work(&self, mut message: QueuedMessage) {
        message.attempts += 1;
        let refusal = self.options.refusal(&message.envelope.message.kind);
        let disposition = match refusal {
            Some(failure) => Disposition::DeadLetter(failure),
            None => self.handle(&message).await,
        };
        match disposition {
            Disposition::Done => {}
            Disposition::Retry(_) if message.attempts < self.bus.limits.max_attempts => {
                self.queue.put_back(message);
            }
            Disposition::Retry(failure) | Disposition::DeadLetter(failure) => {
                self.dead_letter(message, failure).await;
            }
        }
    }

    async fn handle(&self, message: &QueuedMessage) -> Disposition {
        let delivery = Delivery {
            envelope: Arc::clone(&message.envelope),
            queue: self.queue.name.clone(),
            attempt: message.attempts,
            redelivered: message.attempts > 1,
        };
        run_handler(&*self.handler, delivery).await
    }

    /// Stores a message as a dead letter as soon as there is room.
    async fn dead_letter(&self, message: QueuedMessage, failure: Failure) {
        let envelope = &message.envelope;
        tracing::warn!(
            queue = %self.queue.name, id = %envelope.message.id, class = %failure.class,
            reason = failure.reason, "message became a dead letter"
        );
        let mut dead_letter = DeadLetter {
            id: envelope.message.id,
            cause: DeadLetterCause {
                queue: self.queue.name.clone(),
                class: failure.class,
                reason: failure.reason,
                attempts: message.attempts,
                at: now(),
            },
            envelope: Some(Arc::clone(envelope)),
            body: None,
        };
        loop {
            let room = self.bus.dead_letters.room.notified();
            match self.bus.dead_letters.push(dead_letter, self.bus.limits.dead_letters) {
                Ok(()) => return,
                Err(_) if self.is_stopping() => return self.queue.put_back(message),
                Err(back) => dead_letter = *back,
            }
            room.await;
        }
    }
}
