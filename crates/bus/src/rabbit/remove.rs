//! The end of a queue whose consumer does not come back: nothing that waits in
//! it is lost silently.
//!
//! Messages are fetched one by one until the broker says that there are none:
//! it answers that in the order of what it was told, so that what another
//! consumer gave back a moment ago is seen. How many there are it only
//! estimates.

use std::sync::Arc;
use std::time::Duration;

use lapin::Channel;
use lapin::message::Delivery;
use lapin::options::{BasicGetOptions, QueueDeleteOptions};
use ostler_domain::dispatch::priority::Priority;
use tokio::sync::watch;
use tokio::time::Instant;

use super::link::Link;
use super::settle::{Open, Settled, settle};
use super::topology::{ASK_AGAIN, Need};
use super::{Inner, letter};
use crate::bus::{Failure, Verdict};
use crate::error::Result;
use crate::queue::QueueName;

/// How long the broker may take to see that a consumer left.
const GONE_WITHIN: Duration = Duration::from_secs(2);

impl Inner {
    /// Makes dead letters of what waits in a queue, and deletes it. False if it
    /// stays.
    pub(super) async fn remove(&self, queue: &QueueName, why: &Failure) -> Result<bool> {
        let need = Need::Queue(queue.clone());
        self.prepare(&need).await?;
        if self.is_consumed(queue).await? {
            return Ok(false);
        }
        let link = self.links.up().await?;
        let channel = Arc::new(self.answer(&link, link.connection.create_channel()).await?);
        let burying = self.bury_all(&link, &channel, queue, why);
        let patience = self.options.limits.publish_patience;
        let buried = tokio::time::timeout(patience, burying).await.ok().transpose()?.is_some();
        if buried {
            self.delete(&link, &channel, queue).await?;
            self.forget(&link, &need);
        }
        // What was fetched and not buried is the queue's again.
        self.answer(&link, channel.close(200, "done".into())).await?;
        Ok(buried)
    }

    /// Whether somebody takes from a queue. The broker counts a consumer that
    /// left until it has back what that one gave back.
    async fn is_consumed(&self, queue: &QueueName) -> Result<bool> {
        let patience = Instant::now() + GONE_WITHIN;
        while self.depth(queue).await?.consumers > 0 {
            if Instant::now() >= patience {
                return Ok(true);
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
        Ok(false)
    }

    async fn bury_all(
        &self,
        link: &Link,
        channel: &Arc<Channel>,
        queue: &QueueName,
        why: &Failure,
    ) -> Result<()> {
        let (_never, stopping) = watch::channel(false);
        let settled = Settled::default();
        for class in Priority::ALL {
            let name = self.topology.queue(queue, class);
            loop {
                let getting = channel.basic_get(name.as_str().into(), BasicGetOptions::default());
                let Some(message) = self.answer(link, getting).await? else { break };
                let Delivery { properties, data, delivery_tag, .. } = message.delivery;
                let id = letter::id(&properties, &data);
                let attempt = letter::earlier_deliveries(&properties).saturating_add(1);
                let (queue, channel) = (queue.clone(), Arc::clone(channel));
                let body = data;
                let open = Open { id, queue, attempt, properties, body, channel, delivery_tag };
                settle(self, &open, Verdict::Dead(why.clone()), &settled, &stopping).await;
            }
        }
        Ok(())
    }

    /// Deletes the empty queues of all classes. The broker has no way to refuse
    /// if one is not empty any more, so that can only be told.
    async fn delete(&self, link: &Link, channel: &Channel, queue: &QueueName) -> Result<()> {
        for class in Priority::ALL {
            let name = self.topology.queue(queue, class);
            let deleting = channel.queue_delete(name.into(), QueueDeleteOptions::default());
            let lost = self.answer(link, deleting).await?;
            if lost > 0 {
                tracing::error!(%queue, lost, "messages came to a queue while it was deleted");
            }
        }
        Ok(())
    }
}
