//! Deletes a queue whose consumer does not return. Its messages become dead
//! letters first.
//!
//! Messages are fetched one by one until the broker reports none: requests are
//! answered in order, so this includes what another consumer requeued a moment
//! ago. The message count of the broker is only an estimate.

use std::sync::Arc;
use std::time::Duration;

use lapin::Channel;
use lapin::message::Delivery;
use lapin::options::{BasicGetOptions, QueueDeleteOptions};
use ostler_domain::queue_agent::priority::Priority;
use tokio::sync::watch;
use tokio::time::Instant;

use super::connection::BrokerConnection;
use super::settle::{SettledMessages, UnsettledDelivery, settle};
use super::topology::{Declaration, RETRY_DELAY};
use super::{Inner, wire};
use crate::bus::{Disposition, Failure};
use crate::error::Result;
use crate::queue::QueueName;

/// How long the broker may take to notice that a consumer is gone.
const CONSUMER_GRACE: Duration = Duration::from_secs(2);

impl Inner {
    /// Turns the messages of a queue into dead letters and deletes the queue.
    /// Returns `false` if the queue is kept.
    pub(super) async fn delete_queue(&self, queue: &QueueName, reason: &Failure) -> Result<bool> {
        let declaration = Declaration::Queue(queue.clone());
        self.declare(&declaration).await?;
        if self.has_consumers(queue).await? {
            return Ok(false);
        }
        let connection = self.connector.current().await?;
        let channel =
            Arc::new(self.await_broker(&connection, connection.amqp.create_channel()).await?);
        let dead_lettering = self.dead_letter_all(&connection, &channel, queue, reason);
        let timeout = self.options.limits.publish_timeout;
        let emptied =
            tokio::time::timeout(timeout, dead_lettering).await.ok().transpose()?.is_some();
        if emptied {
            self.delete_empty(&connection, &channel, queue).await?;
            self.forget_declared(&connection, &declaration);
        }
        // Closing the channel requeues what was fetched and not settled.
        self.await_broker(&connection, channel.close(200, "done".into())).await?;
        Ok(emptied)
    }

    /// Returns whether the queue has a consumer. The broker counts a closed
    /// consumer until it has requeued that consumer's messages.
    async fn has_consumers(&self, queue: &QueueName) -> Result<bool> {
        let deadline = Instant::now() + CONSUMER_GRACE;
        while self.depth(queue).await?.consumers > 0 {
            if Instant::now() >= deadline {
                return Ok(true);
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
        Ok(false)
    }

    async fn dead_letter_all(
        &self,
        connection: &BrokerConnection,
        channel: &Arc<Channel>,
        queue: &QueueName,
        reason: &Failure,
    ) -> Result<()> {
        let (_never, stopping) = watch::channel(false);
        let settled = SettledMessages::default();
        for class in Priority::ALL {
            let name = self.topology.queue(queue, class);
            loop {
                let next = channel.basic_get(name.as_str().into(), BasicGetOptions::default());
                let Some(message) = self.await_broker(connection, next).await? else { break };
                let Delivery { properties, data, delivery_tag, .. } = message.delivery;
                let id = wire::message_id(&properties, &data);
                let attempt = wire::previous_deliveries(&properties).saturating_add(1);
                let (queue, channel) = (queue.clone(), Arc::clone(channel));
                let body = data;
                let delivery = UnsettledDelivery {
                    id,
                    queue,
                    attempt,
                    properties,
                    body,
                    channel,
                    delivery_tag,
                };
                settle(
                    self,
                    &delivery,
                    Disposition::DeadLetter(reason.clone()),
                    &settled,
                    &stopping,
                )
                .await;
            }
        }
        Ok(())
    }

    /// Deletes the queues of all priority classes. The broker cannot refuse to
    /// delete a quorum queue that is no longer empty, so lost messages are only
    /// logged.
    async fn delete_empty(
        &self,
        connection: &BrokerConnection,
        channel: &Channel,
        queue: &QueueName,
    ) -> Result<()> {
        for class in Priority::ALL {
            let name = self.topology.queue(queue, class);
            let deleting = channel.queue_delete(name.into(), QueueDeleteOptions::default());
            let lost = self.await_broker(connection, deleting).await?;
            if lost > 0 {
                tracing::error!(%queue, lost, "messages lost: they arrived while the queue was deleted");
            }
        }
        Ok(())
    }
}
