//! The sweeper: finds what is due without a message and puts it into inboxes, where workers
//! handle it, and frees what was left behind. It decides nothing; any number of processes
//! may sweep at the same time.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use ostler_domain::id::{OrgId, SessionId};
use ostler_domain::time::Timestamp;
use ostler_store::{AcceptOutcome, DueSession, Store, StoreError, StoredApproval};
use tokio::sync::watch;

use super::approval_expired;
use super::levels::review_levels;
use crate::conversation::Worker;
use crate::deps::Clock;
use crate::inbox::{Doorbell, new_inbox_entry, wake_conversation};
use crate::outage_log::OutageLog;
use crate::records::entry::InboxEntry;
use crate::workers::archive_idle_workers;

/// How many rows are handled at once.
const PAGE: u32 = 500;

/// The usual interval of sweeps. Sessions may end a little late; escalation mails should
/// not.
pub const SWEEP_INTERVAL: Duration = Duration::from_secs(10);

/// How often autonomy levels are reviewed.
const LEVEL_REVIEW_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// How long after the start of a process autonomy levels are reviewed first.
const FIRST_LEVEL_REVIEW: Duration = Duration::from_secs(60 * 60);

/// How often the workers of templates are looked at.
const WORKER_CHECK_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// How long the response to an idempotent request is kept.
const RESPONSE_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepReport {
    /// Sessions that were due.
    pub sessions: u64,
    /// Approvals that expired.
    pub approvals: u64,
    /// Soul proposals that expired.
    pub proposals: u64,
    /// Agents whose autonomy level was reviewed.
    pub reviewed: u64,
    /// Idle workers of templates that were archived.
    pub workers: u64,
    /// Expired reservations that were returned.
    pub reservations: u64,
    /// Costs of turns that were applied to their accounts.
    pub settlements: u64,
    /// Expired counters, cooldowns and responses that were deleted.
    pub forgotten: u64,
}

/// Sweeps an installation. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sweeper {
    store: Store,
    clock: Clock,
    bell: Doorbell,
    interval: Duration,
    /// When the workers of templates are looked at next, in milliseconds.
    next_worker_check: Arc<AtomicI64>,
    /// When autonomy levels are reviewed next, in milliseconds.
    next_level_review: Arc<AtomicI64>,
}

impl Sweeper {
    /// Creates a sweeper that wakes a worker for what it finds.
    pub fn for_worker(worker: &Worker, interval: Duration) -> Self {
        let deps = worker.deps();
        let (store, clock) = (deps.store.clone(), deps.clock.clone());
        let (next_worker_check, next_level_review) = (Arc::default(), Arc::default());
        let bell = worker.bell().clone();
        Self { store, clock, bell, interval, next_worker_check, next_level_review }
    }

    /// Sweeps periodically until it is stopped.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let outage = OutageLog::default();
        while !*stop.borrow() {
            match self.sweep_once().await {
                Err(error) if outage.record_failure() => {
                    tracing::warn!(%error, "sweep incomplete, will retry");
                }
                Ok(_) if outage.record_success() => tracing::warn!("sweep complete again"),
                _ => {}
            }
            tokio::select! {
                () = tokio::time::sleep(self.interval) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Handles everything that is due. A failure does not stop the rest of the sweep; the
    /// first one is returned.
    pub async fn sweep_once(&self) -> Result<SweepReport, StoreError> {
        let store = &self.store;
        let mut failure = FirstFailure(None);
        let report = SweepReport {
            sessions: failure.or_zero(self.tick_sessions(self.clock.now()).await),
            approvals: failure.or_zero(self.expire_approvals().await),
            proposals: failure
                .or_zero(store.expire_proposals(PAGE).await.map(|all| all.len() as u64)),
            reviewed: failure.or_zero(self.review_levels(self.clock.now()).await),
            workers: failure.or_zero(self.archive_workers(self.clock.now()).await),
            reservations: failure
                .or_zero(store.sweep_reservations().await.map(|all| all.len() as u64)),
            settlements: failure.or_zero(store.apply_settlements().await),
            forgotten: failure.or_zero(store.sweep_counters(PAGE).await)
                + failure.or_zero(store.sweep_logins(PAGE).await)
                + failure.or_zero(store.prune_notice_cooldowns(PAGE).await)
                + failure.or_zero(store.delete_idempotency_records(RESPONSE_RETENTION, PAGE).await),
        };
        // Also for entries whose ring was lost.
        self.bell.ring();
        failure.0.map_or(Ok(report), Err)
    }

    /// Puts a tick into the inbox of each due session. A repeat for the same due time is
    /// recognized.
    async fn tick_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        let (mut ticked, mut last): (u64, Option<DueSession>) = (0, None);
        loop {
            let mut page = self.store.due_sessions(now, last.as_ref(), PAGE).await?;
            for due in &page {
                let key = format!("tick:{}:{}", due.id, due.due_at.as_millis());
                let row = new_inbox_entry(due.key.clone(), &key, &InboxEntry::Tick);
                let accepted = self.store.org(due.org).accept_inbound(row, u32::MAX).await?;
                if matches!(accepted, AcceptOutcome::New(_)) {
                    ticked += 1;
                    self.bell.ring_for(&due.key);
                }
            }
            if page.len() < PAGE as usize {
                return Ok(ticked);
            }
            last = page.pop();
        }
    }

    /// Measures the agents of every org once a day and proposes other autonomy levels.
    async fn review_levels(&self, now: Timestamp) -> Result<u64, StoreError> {
        let (due, next) = (now.as_millis(), (now + LEVEL_REVIEW_INTERVAL).as_millis());
        // The first review is some time after the start, so that a crash loop costs little.
        let first = (now + FIRST_LEVEL_REVIEW).as_millis();
        let _unset = self.next_level_review.compare_exchange(0, first, Relaxed, Relaxed);
        if self.next_level_review.load(Relaxed) > due {
            return Ok(0);
        }
        self.next_level_review.store(next, Relaxed);
        let mut reviewed = 0;
        for org in self.store.orgs().await? {
            reviewed += review_levels(self.store.org(org.id), now).await?.len() as u64;
        }
        Ok(reviewed)
    }

    /// Archives idle workers of every org, every few minutes.
    async fn archive_workers(&self, now: Timestamp) -> Result<u64, StoreError> {
        let (due, next) = (now.as_millis(), (now + WORKER_CHECK_INTERVAL).as_millis());
        if self.next_worker_check.load(Relaxed) > due {
            return Ok(0);
        }
        self.next_worker_check.store(next, Relaxed);
        let mut archived = 0;
        for org in self.store.orgs().await? {
            archived += archive_idle_workers(self.store.org(org.id), now).await?;
        }
        Ok(archived)
    }

    async fn expire_approvals(&self) -> Result<u64, StoreError> {
        let then = |stored: &StoredApproval| Some(approval_expired(stored.approval.id));
        let mut expired = 0;
        loop {
            let page = self.store.expire_approvals(PAGE, then).await?;
            expired += page.len() as u64;
            for (org, stored) in &page {
                self.wake_session(*org, stored.approval.session).await;
            }
            if page.len() < PAGE as usize {
                return Ok(expired);
            }
        }
    }
}

impl Sweeper {
    async fn wake_session(&self, org: OrgId, session: SessionId) {
        if let Ok(session) = self.store.org(org).session(session).await {
            wake_conversation(&self.bell, &self.store, org, session.conversation).await;
        }
    }
}

struct FirstFailure(Option<StoreError>);

impl FirstFailure {
    fn or_zero(&mut self, result: Result<u64, StoreError>) -> u64 {
        result.unwrap_or_else(|error| {
            self.0.get_or_insert(error);
            0
        })
    }
}
