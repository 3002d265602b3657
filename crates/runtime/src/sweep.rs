//! The sweeper: what has to happen though nobody writes. It finds what is due,
//! puts it where a worker goes on with it, and gives back what is left over. It
//! decides nothing; any number of processes may sweep at the same time.

use std::time::Duration;

use ostler_domain::id::{OrgId, SessionId};
use ostler_domain::time::Timestamp;
use ostler_store::{Accepted, DueSession, Store, StoreError, StoredApproval};
use tokio::sync::watch;

use crate::inbound::Worker;
use crate::inbound::accept::{Doorbell, inbound};
use crate::operations::{decided, ring_in};
use crate::parts::Clock;
use crate::talk::entry::Entry;

/// How much is looked at in one go.
const PAGE: u32 = 500;

/// How often things that are due are looked for. Sessions may end a little
/// late; people who wait for an e-mail should not.
pub const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// How long the answer to a request that may be repeated is kept.
const ANSWERS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// What a sweep has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Sessions that are to be looked at.
    pub sessions: u64,
    /// Approvals that nobody decided in time.
    pub approvals: u64,
    /// Reservations of turns that never ended.
    pub reservations: u64,
    /// Costs of turns that were applied to accounts.
    pub settlements: u64,
    /// Messages whose sender never reported.
    pub unreported: u64,
    /// Counters and cooldowns that were over, and answers that nobody asks for
    /// again.
    pub forgotten: u64,
}

/// Sweeps.
#[derive(Debug, Clone)]
pub struct Sweeper {
    store: Store,
    clock: Clock,
    bell: Doorbell,
    every: Duration,
}

impl Sweeper {
    /// A sweeper beside a worker, which hears at once of what it finds.
    pub fn beside(worker: &Worker, every: Duration) -> Self {
        let parts = worker.parts();
        let (store, clock) = (parts.store.clone(), parts.clock.clone());
        Self { store, clock, bell: worker.bell().clone(), every }
    }

    /// Sweeps from time to time until it is stopped.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            if let Err(error) = self.sweep_once().await {
                tracing::warn!(%error, "not all that is due could be looked at");
            }
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Looks at all that is due. One thing that fails does not keep the others
    /// from being looked at; the first failure is answered.
    pub async fn sweep_once(&self) -> Result<Swept, StoreError> {
        let store = &self.store;
        let mut failed = Failed(None);
        let swept = Swept {
            sessions: failed.or_zero(self.sessions(self.clock.now()).await),
            approvals: failed.or_zero(self.approvals().await),
            reservations: failed
                .or_zero(store.sweep_reservations().await.map(|all| all.len() as u64)),
            settlements: failed.or_zero(store.apply_settlements().await),
            unreported: failed.or_zero(store.sweep_outbox().await),
            forgotten: failed.or_zero(store.sweep_counters(PAGE).await)
                + failed.or_zero(store.forget_cooldowns(PAGE).await)
                + failed.or_zero(store.forget_answers(ANSWERS_KEPT, PAGE).await),
        };
        // Also for rows whose bell nobody has heard.
        self.bell.ring();
        failed.0.map_or(Ok(swept), Err)
    }

    /// Puts a tick into the inbox of each conversation whose session is due. The
    /// same session at the same time has one, however often this is done.
    async fn sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        let (mut ticked, mut last): (u64, Option<DueSession>) = (0, None);
        loop {
            let mut page = self.store.due_sessions(now, last.as_ref(), PAGE).await?;
            for due in &page {
                let repeat = format!("tick:{}:{}", due.id, due.due_at.as_millis());
                let row = inbound(due.key.clone(), &repeat, &Entry::Tick);
                let accepted = self.store.org(due.org).accept_inbound(row, u32::MAX).await?;
                if matches!(accepted, Accepted::New(_)) {
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

    async fn approvals(&self) -> Result<u64, StoreError> {
        let then = |stored: &StoredApproval| Some(decided(stored.approval.id));
        let mut expired = 0;
        loop {
            let some = self.store.expire_approvals(PAGE, then).await?;
            expired += some.len() as u64;
            for (org, stored) in &some {
                self.ring_in(*org, stored.approval.session).await;
            }
            if some.len() < PAGE as usize {
                return Ok(expired);
            }
        }
    }
}

impl Sweeper {
    /// Wakes a worker for a session's conversation.
    async fn ring_in(&self, org: OrgId, session: SessionId) {
        if let Ok(session) = self.store.org(org).session(session).await {
            ring_in(&self.bell, &self.store, org, session.conversation).await;
        }
    }
}

/// The first failure of several.
struct Failed(Option<StoreError>);

impl Failed {
    fn or_zero(&mut self, result: Result<u64, StoreError>) -> u64 {
        result.unwrap_or_else(|error| {
            self.0.get_or_insert(error);
            0
        })
    }
}
