//! Lists, replays and deletes dead letters.
//!
//! All dead letters are fetched without an ack; those that are not acked are
//! requeued at the end. Within a process one operation runs at a time. Of two
//! processes, each sees only what the other has not fetched.

use std::sync::Arc;

use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicGetOptions, BasicNackOptions};
use lapin::{Acker, Channel};

use super::connection::BrokerConnection;
use super::{Inner, wire};
use crate::dead_letter::{DeadLetter, DeadLetterFilter};
use crate::error::{BusError, Result};

/// Fetched dead letters; closing the channel requeues them.
struct BrowsedDeadLetters {
    connection: Arc<BrokerConnection>,
    channel: Channel,
    /// Oldest first.
    dead_letters: Vec<(DeadLetter, Acker)>,
}

impl Inner {
    pub(super) async fn list_dead_letters(
        &self,
        filter: &DeadLetterFilter,
        limit: usize,
    ) -> Result<Vec<DeadLetter>> {
        let _exclusive = self.browse_lock.lock().await;
        let mut browsed = self.browse().await?;
        let dead_letters = std::mem::take(&mut browsed.dead_letters)
            .into_iter()
            .map(|(dead_letter, _)| dead_letter);
        let found =
            dead_letters.filter(|dead_letter| filter.matches(dead_letter)).take(limit).collect();
        self.requeue_rest(&browsed).await?;
        Ok(found)
    }

    pub(super) async fn purge_dead_letters(&self, filter: &DeadLetterFilter) -> Result<usize> {
        let _exclusive = self.browse_lock.lock().await;
        let browsed = self.browse().await?;
        let mut purged = 0;
        for (_, acker) in
            browsed.dead_letters.iter().filter(|(dead_letter, _)| filter.matches(dead_letter))
        {
            self.await_broker(&browsed.connection, acker.ack(BasicAckOptions::default())).await?;
            purged += 1;
        }
        self.requeue_rest(&browsed).await?;
        Ok(purged)
    }

    pub(super) async fn replay_dead_letters(&self, filter: &DeadLetterFilter) -> Result<usize> {
        let _exclusive = self.browse_lock.lock().await;
        let browsed = self.browse().await?;
        let replayed = self.replay_all(&browsed, filter).await;
        self.requeue_rest(&browsed).await?;
        replayed
    }

    async fn replay_all(
        &self,
        browsed: &BrowsedDeadLetters,
        filter: &DeadLetterFilter,
    ) -> Result<usize> {
        let mut replayed = 0;
        for (dead_letter, acker) in
            browsed.dead_letters.iter().filter(|(dead_letter, _)| filter.matches(dead_letter))
        {
            let Some(envelope) = &dead_letter.envelope else { continue };
            self.publish(&dead_letter.cause.queue, envelope).await?;
            self.await_broker(&browsed.connection, acker.ack(BasicAckOptions::default())).await?;
            replayed += 1;
        }
        Ok(replayed)
    }

    /// Fetches all dead letters. Those added meanwhile may be missing.
    async fn browse(&self) -> Result<BrowsedDeadLetters> {
        self.check_open()?;
        let connection = self.connector.current().await?;
        let channel = self.await_broker(&connection, connection.amqp.create_channel()).await?;
        let mut dead_letters = Vec::new();
        for _ in 0..=self.options.limits.dead_letters {
            let options = BasicGetOptions { no_ack: false };
            let next = channel.basic_get(self.topology.dead_letters().into(), options);
            let Some(message) = self.await_broker(&connection, next).await? else { break };
            let Delivery { properties, data, acker, .. } = message.delivery;
            dead_letters
                .push((wire::decode_dead_letter(&self.topology, &properties, &data), acker));
        }
        // Requeued messages lose their position.
        dead_letters.sort_by_key(|(dead_letter, _)| (dead_letter.cause.at, dead_letter.id));
        Ok(BrowsedDeadLetters { connection, channel, dead_letters })
    }

    /// Requeues the rest before the channel closes, so that the next operation
    /// sees it.
    async fn requeue_rest(&self, browsed: &BrowsedDeadLetters) -> Result<()> {
        let all = BasicNackOptions { multiple: true, requeue: true };
        self.await_broker(&browsed.connection, browsed.channel.basic_nack(0, all)).await?;
        self.await_broker(&browsed.connection, browsed.channel.close(200, "done".into())).await
    }

    /// Awaits an answer of the broker. Fails with [`BusError::Unavailable`] if
    /// there is none in time.
    pub(super) async fn await_broker<T>(
        &self,
        connection: &BrokerConnection,
        request: impl Future<Output = lapin::Result<T>>,
    ) -> Result<T> {
        let timeout = self.options.broker_timeout;
        match tokio::time::timeout(timeout, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                Err(BusError::Unavailable { waited: timeout, reason: error.to_string() })
            }
            Err(_) => {
                connection.mark_lost();
                Err(BusError::Unavailable { waited: timeout, reason: self.connector.down_reason() })
            }
        }
    }
}
