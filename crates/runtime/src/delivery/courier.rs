//! Couriers: they claim what waits in the outbox, one message at a time.

use std::sync::Arc;
use std::time::Duration;

use ostler_channels::Channels;
use ostler_domain::retry::RetryPolicy;
use ostler_store::{Store, StoreError};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::inbound::accept::Doorbell;
use crate::outage::Outage;
use crate::parts::Clock;
use crate::queue::Staff;

/// How couriers work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendOptions {
    /// How long one piece of a message may take. Whoever never reports is given
    /// up after this time, and the message's outcome is unknown.
    pub claim: Duration,
    /// How long a courier that found nothing waits for the bell.
    pub look_every: Duration,
    /// How often dead letters and forgotten messages are looked for.
    pub sweep_every: Duration,
    /// How often and when a dead letter is tried again by itself.
    pub letters: RetryPolicy,
}

impl Default for SendOptions {
    fn default() -> Self {
        Self {
            claim: Duration::from_secs(90),
            look_every: Duration::from_millis(500),
            sweep_every: Duration::from_secs(5),
            letters: RetryPolicy::DEAD_LETTER,
        }
    }
}

/// Sends what was committed. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Courier {
    pub(super) store: Store,
    pub(super) channels: Channels,
    pub(super) clock: Clock,
    pub(super) options: SendOptions,
    pub(super) staff: Option<Staff>,
    bell: Doorbell,
    outage: Arc<Outage>,
}

/// What a sweep found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Messages whose sender never reported.
    pub unknown: u64,
    /// Dead letters that are tried again.
    pub revived: u64,
}

impl Courier {
    /// A courier that is woken by a bell.
    pub fn new(
        store: Store,
        channels: Channels,
        clock: Clock,
        options: SendOptions,
        bell: Doorbell,
    ) -> Self {
        Self { store, channels, clock, options, staff: None, bell, outage: Arc::default() }
    }

    /// Has it answer on the buses of these agents too.
    #[must_use]
    pub fn answering_on(mut self, staff: Staff) -> Self {
        self.staff = Some(staff);
        self
    }

    /// Sends in so many places at once until it is stopped; then finishes what
    /// it has begun.
    pub async fn run(&self, at_once: usize, stop: watch::Receiver<bool>) {
        let mut places = JoinSet::new();
        for _ in 0..at_once.max(1) {
            let (courier, stop) = (self.clone(), stop.clone());
            places.spawn(async move { courier.work(stop).await });
        }
        let courier = self.clone();
        places.spawn(async move { courier.keep_sweeping(stop).await });
        while places.join_next().await.is_some() {}
    }

    async fn work(&self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            match self.send_next().await {
                Ok(sent) => {
                    if self.outage.ends() {
                        tracing::warn!("messages can be sent again");
                    }
                    if sent {
                        continue;
                    }
                }
                Err(error) => {
                    if self.outage.begins() {
                        tracing::warn!(%error, "nothing can be sent; it is tried again");
                    }
                }
            }
            tokio::select! {
                () = self.bell.rings().notified() => {}
                () = tokio::time::sleep(self.options.look_every) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    async fn keep_sweeping(&self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            match self.sweep().await {
                Ok(Swept { unknown: 0, .. }) => {}
                Ok(swept) => {
                    tracing::warn!(
                        messages = swept.unknown,
                        "nobody knows whether these were sent"
                    );
                }
                Err(error) => tracing::warn!(%error, "dead letters could not be looked for"),
            }
            tokio::select! {
                () = tokio::time::sleep(self.options.sweep_every) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Sends one message that is due, or says what became of it; says whether
    /// there was one.
    pub async fn send_next(&self) -> Result<bool, StoreError> {
        let Some(row) = self.store.claim_outbox(self.options.claim).await? else {
            return Ok(false);
        };
        self.deliver(row).await?;
        Ok(true)
    }

    /// Finds messages whose sender never reported, and has dead letters that are
    /// due tried again.
    pub async fn sweep(&self) -> Result<Swept, StoreError> {
        let unknown = self.store.sweep_outbox().await?;
        let mut revived = 0;
        while self.store.revive_dead_letter().await? {
            revived += 1;
        }
        if revived > 0 {
            self.bell.ring();
        }
        Ok(Swept { unknown, revived })
    }
}
