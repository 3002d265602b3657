//! The handle of one consumer.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinHandle;

/// Stops its consumer, and only that, when closed or dropped.
#[must_use = "dropping it stops the consumer"]
pub struct Consumer(Arc<Running>);

/// A consumer at work.
pub(crate) struct Running {
    stop: Box<dyn Fn() + Send + Sync>,
    tasks: AsyncMutex<Vec<JoinHandle<()>>>,
}

impl Consumer {
    /// The handle of tasks that end by themselves, once they are idle, after
    /// `stop` was called.
    pub(crate) fn new(stop: impl Fn() + Send + Sync + 'static, tasks: Vec<JoinHandle<()>>) -> Self {
        Self(Arc::new(Running { stop: Box::new(stop), tasks: AsyncMutex::new(tasks) }))
    }

    /// Takes no more messages, and returns when those that were being handled
    /// are settled. What was not begun stays in the queue. It does no harm to
    /// close twice, at the same time or later; both wait.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        (self.0.stop)();
    }
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Consumer")
    }
}

impl Running {
    async fn close(&self) {
        (self.stop)();
        let mut tasks = self.tasks.lock().await;
        // Each is awaited where it is, so that a close that is cancelled
        // leaves it for the next.
        while let Some(task) = tasks.last_mut() {
            if let Err(error) = task.await {
                tracing::error!(%error, "a consumer ended badly");
            }
            tasks.pop();
        }
    }
}

/// The consumers of a bus.
#[derive(Default)]
pub(crate) struct Consumers(Mutex<Vec<Weak<Running>>>);

impl Consumers {
    pub(crate) fn add(&self, consumer: &Consumer) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == all.capacity() {
            all.retain(|one| one.strong_count() > 0);
        }
        all.push(Arc::downgrade(&consumer.0));
    }

    /// Stops all of them first, so that they drain side by side.
    pub(crate) async fn close_all(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let all: Vec<Arc<Running>> = all.iter().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|one| (one.stop)());
        for one in all {
            one.close().await;
        }
    }
}
