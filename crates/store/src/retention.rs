//! Retention: what is over is deleted once it is older than its org wants.
//!
//! Never anything that is open: what waits, what somebody is working on, dead
//! letters, and what has an unknown outcome stay however old they are. Tables
//! are walked in the order of ids, which is the order in time, in small
//! transactions, and no further than the first page on which nothing is old.

mod sessions;

use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_domain::org::Org;

use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::events::{self, EventLimits};

/// Whether anything is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruneMode {
    /// No: it is only counted.
    Count,
    /// Yes.
    Delete,
}

/// How a pruning goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneLimits {
    /// The most rows that one transaction looks at.
    pub batch: u32,
    /// Whether anything is deleted.
    pub mode: PruneMode,
}

/// What is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Messages that were accepted and answered.
    Inbox,
    /// Messages that were sent or withdrawn.
    Outbox,
    /// Calls outside whose outcome is known.
    Calls,
    /// Sessions that are closed.
    Sessions,
    /// Messages of their threads.
    Messages,
    /// Their runs.
    Runs,
    /// Events.
    Events,
    /// Workflows that are over, with their steps.
    Workflows,
    /// What happened and no workflow waited for.
    Signals,
}

/// How far a pruning has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The org.
    pub org: OrgId,
    /// What was deleted.
    pub kind: Kind,
    /// How many in this transaction.
    pub rows: u64,
}

/// What was deleted of an org, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrgPruned {
    /// The org.
    pub org: OrgId,
    /// How many days it keeps things.
    pub days: u32,
    /// Messages that were accepted and answered.
    pub inbox: u64,
    /// Messages that were sent or withdrawn.
    pub outbox: u64,
    /// Calls outside whose outcome is known.
    pub calls: u64,
    /// Sessions that are closed.
    pub sessions: u64,
    /// Messages of their threads.
    pub messages: u64,
    /// Their runs.
    pub runs: u64,
    /// Events.
    pub events: u64,
    /// Workflows that are over, with their steps.
    pub workflows: u64,
    /// What happened and no workflow waited for.
    pub signals: u64,
}

impl OrgPruned {
    const fn nothing(org: OrgId, days: u32) -> Self {
        Self {
            org,
            days,
            inbox: 0,
            outbox: 0,
            calls: 0,
            sessions: 0,
            messages: 0,
            runs: 0,
            events: 0,
            workflows: 0,
            signals: 0,
        }
    }

    const fn add(&mut self, kind: Kind, rows: u64) {
        let sum = match kind {
            Kind::Inbox => &mut self.inbox,
            Kind::Outbox => &mut self.outbox,
            Kind::Calls => &mut self.calls,
            Kind::Sessions => &mut self.sessions,
            Kind::Messages => &mut self.messages,
            Kind::Runs => &mut self.runs,
            Kind::Events => &mut self.events,
            Kind::Workflows => &mut self.workflows,
            Kind::Signals => &mut self.signals,
        };
        *sum += rows;
    }
}

/// A table that is walked by its ids.
struct Table {
    kind: Kind,
    /// The next ids, and whether each is old.
    page: Sql,
    /// Of the rows between two ids, how many are old and over.
    count: Sql,
    /// Deletes them.
    delete: Sql,
}

/// The rows of a table that are old and over. The parameters are the org, the
/// id before the first, the last id, and the age.
macro_rules! table {
    ($kind:expr, $table:literal, $time:literal, $over:literal) => {
        Table {
            kind: $kind,
            page: sql!(concat!(
                "SELECT id, CASE WHEN ",
                $time,
                " < (SELECT now_ms()) - ?3 THEN 1 ELSE 0 END FROM ",
                $table,
                " WHERE org = ?1 AND id > ?2 ORDER BY id LIMIT ?4"
            )),
            count: sql!(concat!(
                "SELECT count(*) FROM ",
                $table,
                " WHERE org = ?1 AND id > ?2 AND id <= ?3 AND ",
                $time,
                " < (SELECT now_ms()) - ?4 AND ",
                $over
            )),
            delete: sql!(concat!(
                "DELETE FROM ",
                $table,
                " WHERE org = ?1 AND id > ?2 AND id <= ?3 AND ",
                $time,
                " < (SELECT now_ms()) - ?4 AND ",
                $over
            )),
        }
    };
}

static TABLES: [Table; 5] = [
    table!(Kind::Inbox, "inbox", "received_at", "state IN ('done', 'abandoned')"),
    table!(Kind::Outbox, "outbox", "due_at", "state IN ('sent', 'withdrawn', 'abandoned')"),
    table!(
        Kind::Calls,
        "journal",
        "intended_at",
        "state = 'done' AND NOT EXISTS (
           SELECT 1 FROM checkpoints k WHERE k.org = journal.org
             AND k.conversation = journal.conversation AND k.run = journal.run)"
    ),
    table!(Kind::Workflows, "workflows", "updated_at", "status IN ('done', 'failed', 'cancelled')"),
    table!(Kind::Signals, "workflow_events", "published_at", "workflow IS NULL"),
];

impl Store {
    /// Deletes what is over and older than its org wants, org by org, in small
    /// transactions; it can be stopped at any time. `progress` hears of each.
    pub async fn prune(
        &self,
        limits: PruneLimits,
        mut progress: impl FnMut(Progress),
    ) -> Result<Vec<OrgPruned>> {
        let mut all = Vec::new();
        for org in self.orgs().await? {
            if let Some(pruned) = self.prune_org(&org, limits, &mut progress).await? {
                all.push(pruned);
            }
        }
        Ok(all)
    }

    async fn prune_org(
        &self,
        org: &Org,
        PruneLimits { batch, mode }: PruneLimits,
        progress: &mut impl FnMut(Progress),
    ) -> Result<Option<OrgPruned>> {
        let Some(days) = org.retention_days else {
            return Ok(None);
        };
        let org = org.id;
        let keep = Duration::from_secs(86_400 * u64::from(days.get()));
        let mut pruned = OrgPruned::nothing(org, days.get());
        let mut tell = |kind, rows| {
            if rows > 0 {
                pruned.add(kind, rows);
                progress(Progress { org, kind, rows });
            }
        };
        for table in &TABLES {
            let mut after = Some(Value::Bytes(Vec::new()));
            while let Some(id) = after {
                let page = Page { org, table, after: id, keep, batch, mode };
                let (rows, next) = self.write(page).await?;
                tell(table.kind, rows);
                after = next;
            }
        }
        sessions::prune(self, org, keep, mode, batch, &mut tell).await?;
        let limits = EventLimits { keep_for: keep, keep_most: u64::MAX };
        events::prune(self, org, limits, mode, batch, |rows| tell(Kind::Events, rows)).await?;
        Ok(Some(pruned))
    }
}

/// One transaction on a table.
struct Page {
    org: OrgId,
    table: &'static Table,
    after: Value,
    keep: Duration,
    batch: u32,
    mode: PruneMode,
}

impl Operation for Page {
    /// How many rows, and where the next page begins if there is one.
    type Output = (u64, Option<Value>);

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<(u64, Option<Value>)> {
        let (org, keep) = (Value::from(self.org), Value::from(self.keep));
        let params = [org.clone(), self.after.clone(), keep.clone(), self.batch.into()];
        let page = tx.query(&self.table.page, &params).await?;
        let old = page.iter().map(|row| row.int(1)).collect::<Result<Vec<i64>>>()?.contains(&1);
        let last = match page.last() {
            Some(row) if old => row.0.first().cloned().ok_or(StoreError::NotFound("id"))?,
            _ => return Ok((0, None)),
        };
        let range = [org, self.after.clone(), last.clone(), keep];
        let rows = match self.mode {
            PruneMode::Delete => tx.execute(&self.table.delete, &range).await?,
            PruneMode::Count => count(tx, &self.table.count, &range).await?,
        };
        Ok((rows, (page.len() as u64 == u64::from(self.batch)).then_some(last)))
    }
}

async fn count<T: Tx>(tx: &T, sql: &'static Sql, params: &[Value]) -> Result<u64> {
    let counted = tx.first(sql, params).await?.map_or(Ok(0), |row| row.int(0))?;
    Ok(u64::try_from(counted).unwrap_or(0))
}
