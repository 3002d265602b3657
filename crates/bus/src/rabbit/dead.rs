//! Looking at dead letters, putting them back, deleting them.
//!
//! Whoever looks takes the letters one after the other and gives back, by
//! closing the channel, all that were not acked. One process looks at a time;
//! of two, each sees what the other does not hold.

use std::sync::Arc;

use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicGetOptions, BasicNackOptions};
use lapin::{Acker, Channel};

use super::link::Link;
use super::{Inner, letter};
use crate::dead::{DeadLetter, Selection};
use crate::error::{BusError, Result};

/// Dead letters that one looks at; closing the channel gives them back.
struct Browsed {
    link: Arc<Link>,
    channel: Channel,
    /// Oldest first.
    letters: Vec<(DeadLetter, Acker)>,
}

impl Inner {
    pub(super) async fn list_dead(
        &self,
        which: &Selection,
        limit: usize,
    ) -> Result<Vec<DeadLetter>> {
        let _alone = self.browsing.lock().await;
        let mut browsed = self.browse().await?;
        let letters = std::mem::take(&mut browsed.letters).into_iter().map(|(letter, _)| letter);
        let found = letters.filter(|letter| which.has(letter)).take(limit).collect();
        self.give_back(&browsed).await?;
        Ok(found)
    }

    pub(super) async fn purge_dead(&self, which: &Selection) -> Result<usize> {
        let _alone = self.browsing.lock().await;
        let browsed = self.browse().await?;
        let mut purged = 0;
        for (_, acker) in browsed.letters.iter().filter(|(letter, _)| which.has(letter)) {
            self.answer(&browsed.link, acker.ack(BasicAckOptions::default())).await?;
            purged += 1;
        }
        self.give_back(&browsed).await?;
        Ok(purged)
    }

    pub(super) async fn replay_dead(&self, which: &Selection) -> Result<usize> {
        let _alone = self.browsing.lock().await;
        let browsed = self.browse().await?;
        let replayed = self.replay_all(&browsed, which).await;
        self.give_back(&browsed).await?;
        replayed
    }

    async fn replay_all(&self, browsed: &Browsed, which: &Selection) -> Result<usize> {
        let mut replayed = 0;
        for (letter, acker) in browsed.letters.iter().filter(|(letter, _)| which.has(letter)) {
            let Some(envelope) = &letter.envelope else { continue };
            self.publish(&letter.death.queue, envelope).await?;
            self.answer(&browsed.link, acker.ack(BasicAckOptions::default())).await?;
            replayed += 1;
        }
        Ok(replayed)
    }

    /// Takes all letters for a look. What dies meanwhile may not be among them.
    async fn browse(&self) -> Result<Browsed> {
        self.check_open()?;
        let link = self.links.up().await?;
        let channel = self.answer(&link, link.connection.create_channel()).await?;
        let mut letters = Vec::new();
        for _ in 0..=self.options.limits.dead_letters {
            let options = BasicGetOptions { no_ack: false };
            let getting = channel.basic_get(self.topology.dead().into(), options);
            let Some(message) = self.answer(&link, getting).await? else { break };
            let Delivery { properties, data, acker, .. } = message.delivery;
            letters.push((letter::read_dead(&self.topology, &properties, &data), acker));
        }
        // What was given back earlier does not keep its place.
        letters.sort_by_key(|(letter, _)| (letter.death.at, letter.id));
        Ok(Browsed { link, channel, letters })
    }

    /// Gives back what is left, and does so before the channel ends, so that
    /// whoever looks next sees it.
    async fn give_back(&self, browsed: &Browsed) -> Result<()> {
        let all = BasicNackOptions { multiple: true, requeue: true };
        self.answer(&browsed.link, browsed.channel.basic_nack(0, all)).await?;
        self.answer(&browsed.link, browsed.channel.close(200, "done".into())).await
    }

    /// The broker's answer, or the error that there is none.
    pub(super) async fn answer<T>(
        &self,
        link: &Link,
        asking: impl Future<Output = lapin::Result<T>>,
    ) -> Result<T> {
        let waited = self.options.answer_patience;
        match tokio::time::timeout(waited, asking).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(BusError::Unavailable { waited, reason: error.to_string() }),
            Err(_) => {
                link.suspect();
                Err(BusError::Unavailable { waited, reason: self.links.reason() })
            }
        }
    }
}
