//! A worker of a consumer: takes a message, has it handled, settles it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use ostler_domain::dispatch::failure::FailureClass;

use super::Shared;
use super::queue::{Queue, Waiting};
use crate::bus::{ConsumeOptions, Delivery, Failure, Handler, Verdict};
use crate::dead::{DeadLetter, Death};
use crate::id::now;

pub(super) struct Worker {
    pub(super) bus: Arc<Shared>,
    pub(super) queue: Arc<Queue>,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) options: Arc<ConsumeOptions>,
    pub(super) stopping: Arc<AtomicBool>,
    pub(super) _presence: Arc<Presence>,
}

/// A consumer is there as long as one of its workers is.
pub(super) struct Presence(Arc<Queue>);

impl Presence {
    pub(super) fn new(queue: &Arc<Queue>) -> Arc<Self> {
        queue.consumers.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self(Arc::clone(queue)))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.consumers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Worker {
    pub(super) async fn run(self) {
        loop {
            // Made before looking, so that a wake-up in between is not lost.
            let wake = self.queue.ready.notified();
            if self.is_stopping() {
                break;
            }
            match self.queue.take() {
                Some(waiting) => self.work(waiting).await,
                None => wake.await,
            }
        }
        // A wake-up that this worker took with it is another's.
        self.queue.ready.notify_one();
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    async fn work(&self, mut waiting: Waiting) {
        waiting.attempts += 1;
        let refusal = self.options.refusal(&waiting.envelope.message.kind);
        let verdict = match refusal {
            Some(failure) => Verdict::Dead(failure),
            None => self.handle(&waiting).await,
        };
        match verdict {
            Verdict::Done => {}
            Verdict::Again(_) if waiting.attempts < self.bus.limits.attempts => {
                self.queue.put_back(waiting);
            }
            Verdict::Again(failure) | Verdict::Dead(failure) => self.bury(waiting, failure).await,
        }
    }

    async fn handle(&self, waiting: &Waiting) -> Verdict {
        let delivery = Delivery {
            envelope: Arc::clone(&waiting.envelope),
            queue: self.queue.name.clone(),
            attempt: waiting.attempts,
            redelivered: waiting.attempts > 1,
        };
        handle(&*self.handler, delivery).await
    }

    /// Makes a dead letter of a message, as soon as there is room for one.
    async fn bury(&self, waiting: Waiting, failure: Failure) {
        let envelope = &waiting.envelope;
        tracing::warn!(
            queue = %self.queue.name, id = %envelope.message.id, class = %failure.class,
            reason = failure.reason, "dead letter"
        );
        let mut letter = DeadLetter {
            id: envelope.message.id,
            death: Death {
                queue: self.queue.name.clone(),
                class: failure.class,
                reason: failure.reason,
                attempts: waiting.attempts,
                at: now(),
            },
            envelope: Some(Arc::clone(envelope)),
            body: None,
        };
        loop {
            let room = self.bus.dead.room.notified();
            match self.bus.dead.push(letter, self.bus.limits.dead_letters) {
                Ok(()) => return,
                Err(_) if self.is_stopping() => return self.queue.put_back(waiting),
                Err(back) => letter = *back,
            }
            room.await;
        }
    }
}

/// What a handler says; a panic is a failure of this message.
pub(crate) async fn handle(handler: &dyn Handler, delivery: Delivery) -> Verdict {
    let handling = AssertUnwindSafe(async { handler.handle(delivery).await });
    handling.catch_unwind().await.unwrap_or_else(|_| {
        let reason = "the handler panicked".to_owned();
        Verdict::Dead(Failure { class: FailureClass::Application, reason })
    })
}
