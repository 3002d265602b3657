//! Sending the events of orgs to their webhooks.
//!
//! Events become deliveries in the order of the event log; deliveries are sent in any order, at
//! least once, and always with the id that they got first. Webhooks take turns: one is leased
//! to one process, which sends a few of its deliveries and lets it go. A receiver that hangs
//! or fails holds up its own deliveries, and takes a few places of its org only.

mod fan_out;
mod pauses;
mod send;

use std::time::{Duration, Instant};

use ostler_channels::Channels;
use ostler_domain::id::{OrgId, WebhookId};
use ostler_store::{Store, StoreError};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use self::pauses::FailurePauses;
use crate::deps::Clock;
use crate::outage_log::OutageLog;

/// How many webhooks are looked at in one round.
const ROUND: u32 = 200;
/// How often old deliveries are deleted, and how many in one transaction.
const PRUNE_INTERVAL: Duration = Duration::from_secs(600);
const PRUNE_BATCH: u32 = 1000;

/// The options of a webhook worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookOptions {
    /// How many webhooks are served at the same time.
    pub concurrency: usize,
    /// How many of them may be of one org.
    pub max_per_org: usize,
    /// How many requests are made to a webhook at the same time.
    pub requests: usize,
    /// How many deliveries of a webhook are sent before it is another one's turn.
    pub batch: u32,
    /// For how long a process has a webhook. Afterwards another may send the same again.
    pub lease: Duration,
    /// How often new events and due deliveries are looked for.
    pub poll_interval: Duration,
    /// For how long deliveries are kept that are over.
    pub keep_log: Duration,
}

impl Default for WebhookOptions {
    fn default() -> Self {
        Self {
            concurrency: 64,
            max_per_org: 4,
            requests: 4,
            batch: 32,
            lease: Duration::from_secs(30),
            poll_interval: Duration::from_millis(500),
            keep_log: Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}

/// Sends events to webhooks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WebhookWorker {
    store: Store,
    channels: Channels,
    clock: Clock,
    options: WebhookOptions,
    pauses: FailurePauses,
}

impl WebhookWorker {
    /// Creates a worker for a store. Requests are made by the client of the channels.
    pub fn new(store: Store, channels: Channels, clock: Clock, options: WebhookOptions) -> Self {
        Self { store, channels, clock, options, pauses: FailurePauses::default() }
    }

    /// Sends events until it is stopped; then it finishes the requests in progress.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let outage = OutageLog::default();
        let mut serving = Serving::default();
        let mut next_prune = Instant::now();
        while !*stop.borrow() {
            if Instant::now() >= next_prune {
                next_prune = Instant::now() + PRUNE_INTERVAL;
                self.prune().await;
            }
            let found = match self.round(&mut serving, &stop).await {
                Ok(found) => {
                    if outage.record_success() {
                        tracing::warn!("events are sent to webhooks again");
                    }
                    found
                }
                Err(error) => {
                    if outage.record_failure() {
                        tracing::warn!(%error, "no event can be sent to webhooks, will retry");
                    }
                    false
                }
            };
            if found {
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(self.options.poll_interval) => {}
                () = serving.one_ends() => {}
                changed = stop.changed() => if changed.is_err() { break },
            }
        }
        serving.all_end().await;
    }

    /// Makes deliveries of new events and begins to serve webhooks. Returns whether there may
    /// be more to do at once.
    async fn round(
        &self,
        serving: &mut Serving,
        stop: &watch::Receiver<bool>,
    ) -> Result<bool, StoreError> {
        let mut more = false;
        for (org, id) in self.store.webhooks_with_events(ROUND).await? {
            if self.pauses.is_paused(org, id) {
                continue;
            }
            match self.fan_out(org, id).await {
                Ok(has_more) => more |= has_more,
                Err(error) => {
                    self.pauses.pause(org, id);
                    tracing::warn!(%error, %org, webhook = %id, "no deliveries made, will retry");
                }
            }
        }
        for (org, id) in self.store.webhooks_with_due_deliveries(ROUND).await? {
            if !self.pauses.is_paused(org, id) && serving.has_room_for(org, &self.options) {
                let (worker, stop) = (self.clone(), stop.clone());
                serving.begin(org, async move { worker.serve(org, id, &stop).await });
            }
        }
        Ok(more)
    }

    /// Sends everything that is due now, and returns when it was tried once.
    pub async fn run_once(&self) -> Result<(), StoreError> {
        let (_running, stop) = watch::channel(false);
        for (org, id) in self.store.webhooks_with_events(ROUND).await? {
            while self.fan_out(org, id).await? {}
        }
        for (org, id) in self.store.webhooks_with_due_deliveries(ROUND).await? {
            self.serve(org, id, &stop).await;
        }
        Ok(())
    }

    async fn prune(&self) {
        loop {
            match self.store.prune_webhook_deliveries(self.options.keep_log, PRUNE_BATCH).await {
                Ok(count) if count >= u64::from(PRUNE_BATCH) => {}
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(%error, "old webhook deliveries not pruned, will retry");
                    return;
                }
            }
        }
    }

    async fn serve(&self, org: OrgId, id: WebhookId, stop: &watch::Receiver<bool>) {
        if let Err(error) = self.send_batch(org, id, stop).await {
            self.pauses.pause(org, id);
            tracing::warn!(%error, %org, webhook = %id, "webhook not served, will retry");
        }
    }
}

/// The webhooks that are served at the moment.
#[derive(Default)]
struct Serving {
    tasks: JoinSet<()>,
    /// The orgs of the tasks, also of some that have ended.
    orgs: Vec<(OrgId, AbortHandle)>,
}

impl Serving {
    fn has_room_for(&mut self, org: OrgId, options: &WebhookOptions) -> bool {
        while self.tasks.try_join_next().is_some() {}
        self.orgs.retain(|(_, task)| !task.is_finished());
        let of_org = self.orgs.iter().filter(|(other, _)| *other == org).count();
        self.tasks.len() < options.concurrency && of_org < options.max_per_org
    }

    fn begin(&mut self, org: OrgId, work: impl Future<Output = ()> + Send + 'static) {
        self.orgs.push((org, self.tasks.spawn(work)));
    }

    /// Returns when one ends; never if none is served.
    async fn one_ends(&mut self) {
        if self.tasks.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    async fn all_end(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}
