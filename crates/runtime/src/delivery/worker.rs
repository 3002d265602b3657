//! The delivery worker: it claims outbox entries, fairly among orgs and bindings, and
//! sends many at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_channels::Channels;
use ostler_domain::channel::breaker::SendBreaker;
use ostler_domain::retry::RetryPolicy;
use ostler_store::{OutboxEntry, SendPolicy, Store, StoreError};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::notices::NoticeDispatcher;
use super::unreported::Settled;
use crate::agents::AgentRuntimes;
use crate::deps::Clock;
use crate::inbox::Doorbell;
use crate::metrics::RuntimeMetrics;
use crate::outage_log::OutageLog;

/// How many messages are claimed in one transaction.
const MAX_CLAIM: usize = 32;

/// The options of delivery workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryOptions {
    /// How long one piece of a message may take. A worker that has not reported by then
    /// loses the entry, whose outcome is then unknown.
    pub claim_timeout: Duration,
    /// How many messages are sent through a binding at the same time.
    pub max_per_binding: u32,
    /// How long an idle worker waits for the bell before it polls.
    pub poll_interval: Duration,
    /// How often due dead letters and unreported entries are looked for.
    pub sweep_interval: Duration,
    /// For how long a stopped worker still claims messages.
    pub drain_timeout: Duration,
    /// For how long a message that its receiver does not take is retried, with the later
    /// ones of its conversation behind it, before it becomes a dead letter.
    pub max_hold: Duration,
    /// When the messages of a binding wait because its receiver fails.
    pub breaker: SendBreaker,
    /// How often and when a dead letter is retried automatically.
    pub dead_letter_retries: RetryPolicy,
}

impl Default for DeliveryOptions {
    fn default() -> Self {
        Self {
            claim_timeout: Duration::from_secs(90),
            max_per_binding: 32,
            poll_interval: Duration::from_millis(500),
            sweep_interval: Duration::from_secs(5),
            drain_timeout: Duration::from_secs(10),
            max_hold: Duration::from_secs(5 * 60),
            breaker: SendBreaker::default(),
            dead_letter_retries: RetryPolicy::DEAD_LETTER,
        }
    }
}

impl DeliveryOptions {
    const fn send_policy(&self) -> SendPolicy {
        SendPolicy { claim_time: self.claim_timeout, max_per_binding: self.max_per_binding }
    }
}

/// Sends outbox entries. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DeliveryWorker {
    pub(super) store: Store,
    pub(super) channels: Channels,
    pub(super) clock: Clock,
    pub(super) options: DeliveryOptions,
    pub(super) agent_runtimes: Option<AgentRuntimes>,
    pub(super) metrics: RuntimeMetrics,
    notices: NoticeDispatcher,
    pub(super) bell: Doorbell,
    outage: Arc<OutageLog>,
}

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliverySweep {
    /// Messages whose outcome is unknown now.
    pub unknown: u64,
    /// Messages that are sent again, because their sender did not report.
    pub repeated: u64,
    /// Dead letters that are retried.
    pub revived: u64,
}

impl DeliveryWorker {
    /// Creates a worker that is woken by a bell.
    pub fn new(
        store: Store,
        channels: Channels,
        clock: Clock,
        options: DeliveryOptions,
        bell: Doorbell,
    ) -> Self {
        let notices = NoticeDispatcher::new(store.clone(), clock.clone());
        let (agent_runtimes, outage) = (None, Arc::default());
        let metrics = RuntimeMetrics::default();
        Self { store, channels, clock, options, agent_runtimes, metrics, notices, bell, outage }
    }

    /// Records its attempts in these values.
    #[must_use]
    pub fn with_metrics(mut self, metrics: RuntimeMetrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// Also sends replies to the buses of these agents.
    #[must_use]
    pub fn with_agent_runtimes(mut self, agent_runtimes: AgentRuntimes) -> Self {
        self.agent_runtimes = Some(agent_runtimes);
        self
    }

    /// Sends up to `concurrency` messages at once until it is stopped; then sends what is due,
    /// for [`DeliveryOptions::drain_timeout`] at most, and finishes the sends in progress.
    pub async fn run(&self, concurrency: usize, mut stop: watch::Receiver<bool>) {
        let (worker, stopped) = (self.clone(), stop.clone());
        let sweeper = tokio::spawn(async move { worker.sweep_periodically(stopped).await });
        let (worker, stopped) = (self.clone(), stop.clone());
        let notifier = tokio::spawn(async move { worker.notify_periodically(stopped).await });
        let mut sends = JoinSet::new();
        while !*stop.borrow() {
            let free = concurrency.max(1).saturating_sub(sends.len());
            let claimed = self.claim(free.min(MAX_CLAIM)).await;
            let found = !claimed.is_empty();
            for entry in claimed {
                let worker = self.clone();
                sends.spawn(async move { worker.deliver(entry).await });
            }
            if found {
                continue;
            }
            tokio::select! {
                () = self.bell.local().notified(), if free > 0 => {}
                Some(_) = sends.join_next() => while sends.try_join_next().is_some() {},
                () = tokio::time::sleep(self.options.poll_interval) => {}
                changed = stop.changed() => if changed.is_err() { break },
            }
        }
        self.drain(concurrency, &mut sends).await;
        while sends.join_next().await.is_some() {}
        let _ = sweeper.await;
        let _ = notifier.await;
    }

    /// Sends what is due when the worker stops: replies of the last turns.
    async fn drain(&self, concurrency: usize, sends: &mut JoinSet<()>) {
        let deadline = Instant::now() + self.options.drain_timeout;
        while Instant::now() < deadline {
            let free = concurrency.max(1).saturating_sub(sends.len());
            let claimed = self.claim(free.min(MAX_CLAIM)).await;
            if claimed.is_empty() && sends.is_empty() {
                return;
            }
            for entry in claimed {
                let worker = self.clone();
                sends.spawn(async move { worker.deliver(entry).await });
            }
            // A reply may wait for the one before it.
            let _ = tokio::time::timeout_at(deadline.into(), sends.join_next()).await;
        }
    }

    /// Claims due messages; none if the store fails.
    async fn claim(&self, limit: usize) -> Vec<OutboxEntry> {
        if limit == 0 {
            return Vec::new();
        }
        match self.store.claim_outbox(self.options.send_policy(), limit).await {
            Ok(claimed) => {
                if self.outage.record_success() {
                    tracing::warn!("outbox entries can be claimed again");
                }
                claimed
            }
            Err(error) => {
                if self.outage.record_failure() {
                    tracing::warn!(%error, "no outbox entry can be claimed, will retry");
                }
                Vec::new()
            }
        }
    }

    async fn sweep_periodically(&self, mut stop: watch::Receiver<bool>) {
        let outage = OutageLog::default();
        while !*stop.borrow() {
            match self.sweep().await {
                Ok(sweep) => {
                    if outage.record_success() {
                        tracing::warn!("delivery sweep works again");
                    }
                    if sweep.unknown > 0 {
                        tracing::warn!(unknown_count = sweep.unknown, "delivery outcomes unknown");
                    }
                }
                Err(error) if outage.record_failure() => {
                    tracing::warn!(%error, "delivery sweep failed, will retry");
                }
                Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(self.options.sweep_interval) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    async fn notify_periodically(&self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            match self.notices.dispatch().await {
                Ok(0) => {}
                Ok(_) => self.bell.ring(),
                Err(error) => tracing::warn!(%error, "notices not sent, will retry"),
            }
            tokio::select! {
                () = tokio::time::sleep(self.options.poll_interval) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Sends one due message, or the notices that are due, and stores the result. Returns
    /// whether there was anything to send.
    pub async fn send_next(&self) -> Result<bool, StoreError> {
        let Some(entry) = self.store.claim_outbox(self.options.send_policy(), 1).await?.pop()
        else {
            return Ok(self.notices.dispatch().await? > 0);
        };
        self.deliver(entry).await;
        Ok(true)
    }

    /// Repeats messages whose sender never reported or marks them as unknown, and retries due
    /// dead letters.
    pub async fn sweep(&self) -> Result<DeliverySweep, StoreError> {
        let Settled { unknown, repeated } = self.settle_unreported().await?;
        let mut revived = 0;
        while self.store.retry_due_dead_letter().await? {
            revived += 1;
        }
        if revived + repeated > 0 {
            self.bell.ring();
        }
        Ok(DeliverySweep { unknown, repeated, revived })
    }
}
