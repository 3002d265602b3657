//! Handles of consumers.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinHandle;

/// A running consumer. It stops when this handle is closed or dropped.
#[must_use = "dropping it stops the consumer"]
pub struct Consumer(Arc<ConsumerTasks>);

/// The tasks of a consumer.
pub(crate) struct ConsumerTasks {
    stop: Box<dyn Fn() + Send + Sync>,
    tasks: AsyncMutex<Vec<JoinHandle<()>>>,
}

impl Consumer {
    /// Creates a handle for tasks that end after `stop` is called, once they
    /// are idle.
    pub(crate) fn new(stop: impl Fn() + Send + Sync + 'static, tasks: Vec<JoinHandle<()>>) -> Self {
        Self(Arc::new(ConsumerTasks { stop: Box::new(stop), tasks: AsyncMutex::new(tasks) }))
    }

    /// Stops receiving messages and returns when the messages in progress are
    /// settled. Messages that were not started stay in the queue. Closing twice
    /// is allowed; both calls wait.
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

impl ConsumerTasks {
    async fn close(&self) {
        (self.stop)();
        let mut tasks = self.tasks.lock().await;
        // The task stays in the list while it is awaited, so that a cancelled
        // `close` can be repeated.
        while let Some(task) = tasks.last_mut() {
            if let Err(error) = task.await {
                tracing::error!(%error, "consumer task failed");
            }
            tasks.pop();
        }
    }
}

/// All consumers of a bus.
#[derive(Default)]
pub(crate) struct ConsumerRegistry(Mutex<Vec<Weak<ConsumerTasks>>>);

impl ConsumerRegistry {
    pub(crate) fn add(&self, consumer: &Consumer) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == all.capacity() {
            all.retain(|consumer| consumer.strong_count() > 0);
        }
        all.push(Arc::downgrade(&consumer.0));
    }

    /// Closes all consumers. Stops all of them before waiting for any, so that
    /// they drain concurrently.
    pub(crate) async fn close_all(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let all: Vec<Arc<ConsumerTasks>> = all.iter().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|consumer| (consumer.stop)());
        for consumer in all {
            consumer.close().await;
        }
    }
}
