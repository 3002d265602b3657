//! Deletes a queue whose consumer does not return. Its messages become dead
//! letters first.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::{Shared, consume};
use crate::bus::{ConsumeOptions, Delivery, Disposition, Failure, Handler};
use crate::error::Result;
use crate::queue::QueueName;

/// How often the queue is checked for emptiness.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Turns the messages of a queue into dead letters and deletes the queue.
/// Returns `false` if the queue is kept.
pub(super) async fn delete_queue(
    bus: &Arc<Shared>,
    name: &QueueName,
    reason: Failure,
) -> Result<bool> {
    bus.check_open()?;
    let Some(queue) = bus.existing(name) else { return Ok(true) };
    let depth = queue.depth();
    if depth.consumers > 0 {
        return Ok(false);
    }
    if depth.total() > 0 {
        let dead_letter_all =
            move |_: Delivery| std::future::ready(Disposition::DeadLetter(reason.clone()));
        let dead_letter_all: Arc<dyn Handler> = Arc::new(dead_letter_all);
        let consumer = consume(bus, name, ConsumeOptions::default(), &dead_letter_all)?;
        let empty = async {
            while queue.depth().total() > 0 {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let _empty_or_not = tokio::time::timeout(bus.limits.publish_timeout, empty).await;
        consumer.close().await;
    }
    Ok(bus.forget_queue(name))
}

impl Shared {
    /// Removes the queue unless it has messages or a consumer again.
    fn forget_queue(&self, name: &QueueName) -> bool {
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        let deleted = queues.get(name).is_none_or(|queue| queue.delete_if_empty());
        if deleted {
            queues.remove(name);
        }
        deleted
    }
}
