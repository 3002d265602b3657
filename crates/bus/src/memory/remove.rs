//! The end of a queue whose consumer does not come back: nothing that waits in
//! it is lost silently.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::{Shared, consume};
use crate::bus::{ConsumeOptions, Delivery, Failure, Handler, Verdict};
use crate::error::Result;
use crate::queue::QueueName;

/// How often it is looked whether a queue is empty.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Makes dead letters of what waits in a queue, and ends it. False if it stays.
pub(super) async fn remove(bus: &Arc<Shared>, name: &QueueName, why: Failure) -> Result<bool> {
    bus.check_open()?;
    let Some(queue) = bus.existing(name) else { return Ok(true) };
    let depth = queue.depth();
    if depth.consumers > 0 {
        return Ok(false);
    }
    if depth.total() > 0 {
        let bury = move |_: Delivery| std::future::ready(Verdict::Dead(why.clone()));
        let bury: Arc<dyn Handler> = Arc::new(bury);
        let burying = consume(bus, name, ConsumeOptions::default(), &bury)?;
        let empty = async {
            while queue.depth().total() > 0 {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let _empty_or_not = tokio::time::timeout(bus.limits.publish_patience, empty).await;
        burying.close().await;
    }
    Ok(bus.forget(name))
}

impl Shared {
    /// Forgets a queue, unless something came into it or somebody consumes it.
    fn forget(&self, name: &QueueName) -> bool {
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        let ends = queues.get(name).is_none_or(|queue| queue.end());
        if ends {
            queues.remove(name);
        }
        ends
    }
}
