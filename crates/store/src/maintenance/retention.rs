//! Retention: finished data is pruned once it is older than the org's retention period.
//!
//! Open data is never pruned: pending rows, running work, dead letters and unknown
//! outcomes are kept however old they are. Tables are walked by id, which is the order
//! in time, in small transactions, up to the first page without old rows.

mod files;
mod records;
mod sessions;
mod threads;

use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_domain::org::Org;

use crate::Store;
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::{Result, StoreError};
use crate::events::{self, EventLimits};

/// Whether pruning deletes or only counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruneMode {
    Count,
    Delete,
}

/// Options of a pruning run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneOptions {
    /// Rows read per transaction.
    pub batch_size: u32,
    pub mode: PruneMode,
}

/// A kind of pruned data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionKind {
    /// Inbox rows that were answered or abandoned.
    Inbox,
    /// Outbox rows that were sent, withdrawn or abandoned.
    Outbox,
    /// External calls with a known outcome.
    Calls,
    /// Closed sessions.
    Sessions,
    /// Messages of their threads.
    Messages,
    Runs,
    Events,
    /// Ended workflows, with their tasks.
    Workflows,
    /// Workflow events that were never delivered.
    Signals,
    /// Threads of interactive harnesses, with all that belongs to them.
    Threads,
    /// Files of messages that are deleted.
    Files,
    /// Answers to forms.
    Records,
}

/// The progress of a pruning run: one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneProgress {
    pub org: OrgId,
    pub kind: RetentionKind,
    /// In this transaction.
    pub rows: u64,
}

/// What was pruned of an org, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneReport {
    pub org: OrgId,
    /// The retention period in days.
    pub days: u32,
    pub inbox: u64,
    pub outbox: u64,
    pub calls: u64,
    pub sessions: u64,
    pub messages: u64,
    pub runs: u64,
    pub events: u64,
    pub workflows: u64,
    pub signals: u64,
    pub threads: u64,
    pub files: u64,
    pub records: u64,
}

impl PruneReport {
    /// Returns how many rows there are in all.
    pub const fn total(&self) -> u64 {
        let Self { inbox, outbox, calls, sessions, messages, runs, .. } = *self;
        let Self { events, workflows, signals, threads, files, records, .. } = *self;
        let of_work = events + workflows + signals + threads + files + records;
        inbox + outbox + calls + sessions + messages + runs + of_work
    }

    const fn empty(org: OrgId, days: u32) -> Self {
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
            threads: 0,
            files: 0,
            records: 0,
        }
    }

    const fn add(&mut self, kind: RetentionKind, rows: u64) {
        let sum = match kind {
            RetentionKind::Inbox => &mut self.inbox,
            RetentionKind::Outbox => &mut self.outbox,
            RetentionKind::Calls => &mut self.calls,
            RetentionKind::Sessions => &mut self.sessions,
            RetentionKind::Messages => &mut self.messages,
            RetentionKind::Runs => &mut self.runs,
            RetentionKind::Events => &mut self.events,
            RetentionKind::Workflows => &mut self.workflows,
            RetentionKind::Signals => &mut self.signals,
            RetentionKind::Threads => &mut self.threads,
            RetentionKind::Files => &mut self.files,
            RetentionKind::Records => &mut self.records,
        };
        *sum += rows;
    }
}

/// A table that is walked by id.
struct Table {
    kind: RetentionKind,
    /// Selects the next ids and whether each is old.
    page: Sql,
    /// Counts the old finished rows between two ids.
    count: Sql,
    /// Deletes the old finished rows between two ids.
    delete: Sql,
}

/// The old finished rows of a table. Parameters: org, the id before the first, the last
/// id, and the age.
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
    table!(RetentionKind::Inbox, "inbox", "received_at", "state IN ('done', 'abandoned')"),
    table!(
        RetentionKind::Outbox,
        "outbox",
        "due_at",
        "state IN ('sent', 'withdrawn', 'abandoned')"
    ),
    table!(
        RetentionKind::Calls,
        "journal",
        "intended_at",
        "state = 'done' AND NOT EXISTS (
           SELECT 1 FROM checkpoints k WHERE k.org = journal.org
             AND k.conversation = journal.conversation AND k.run = journal.run)"
    ),
    table!(
        RetentionKind::Workflows,
        "workflows",
        "updated_at",
        "status IN ('done', 'failed', 'cancelled')"
    ),
    table!(RetentionKind::Signals, "workflow_events", "published_at", "workflow IS NULL"),
];

impl Store {
    /// Prunes finished data older than the retention period of its org, org by org, in small
    /// transactions; it can be stopped at any time. Calls `progress` after each.
    pub async fn prune(
        &self,
        limits: PruneOptions,
        mut progress: impl FnMut(PruneProgress),
    ) -> Result<Vec<PruneReport>> {
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
        PruneOptions { batch_size: batch, mode }: PruneOptions,
        progress: &mut impl FnMut(PruneProgress),
    ) -> Result<Option<PruneReport>> {
        let Some(days) = org.retention_days else {
            return Ok(None);
        };
        let org = org.id;
        let max_age = Duration::from_secs(86_400 * u64::from(days.get()));
        let mut pruned = PruneReport::empty(org, days.get());
        let mut report = |kind, rows| {
            if rows > 0 {
                pruned.add(kind, rows);
                progress(PruneProgress { org, kind, rows });
            }
        };
        for table in &TABLES {
            let mut after = Some(Value::Bytes(Vec::new()));
            while let Some(id) = after {
                let page = PrunePage { org, table, after: id, max_age, batch, mode };
                let (rows, next) = self.org(org).write(move |tx| page.prune(tx)).await?;
                report(table.kind, rows);
                after = next;
            }
        }
        sessions::prune(self, org, max_age, mode, batch, &mut report).await?;
        threads::prune(self, org, max_age, mode, batch, &mut report).await?;
        records::prune(self, org, max_age, mode, batch, &mut report).await?;
        // After the messages that refer to them.
        files::prune(self, org, max_age, mode, batch, &mut report).await?;
        let limits = EventLimits { max_age, max_events: u64::MAX };
        events::prune(self, org, limits, mode, batch, |rows| report(RetentionKind::Events, rows))
            .await?;
        Ok(Some(pruned))
    }
}

/// One page of a table to prune.
struct PrunePage {
    org: OrgId,
    table: &'static Table,
    after: Value,
    max_age: Duration,
    batch: u32,
    mode: PruneMode,
}

impl PrunePage {
    /// Returns the number of rows, and where the next page starts if there is one.
    fn prune(&self, tx: &Tx) -> Result<(u64, Option<Value>)> {
        let (org, max_age) = (Value::from(self.org), Value::from(self.max_age));
        let params = [org.clone(), self.after.clone(), max_age.clone(), self.batch.into()];
        let page = tx.query(&self.table.page, &params)?;
        let old = page.iter().map(|row| row.int(1)).collect::<Result<Vec<i64>>>()?.contains(&1);
        let last = match page.last() {
            Some(row) if old => row.0.first().cloned().ok_or(StoreError::NotFound("id"))?,
            _ => return Ok((0, None)),
        };
        let range = [org, self.after.clone(), last.clone(), max_age];
        let rows = match self.mode {
            PruneMode::Delete => tx.execute(&self.table.delete, &range)?,
            PruneMode::Count => count(tx, &self.table.count, &range)?,
        };
        Ok((rows, (page.len() as u64 == u64::from(self.batch)).then_some(last)))
    }
}

fn count(tx: &Tx, sql: &'static Sql, params: &[Value]) -> Result<u64> {
    let counted = tx.first(sql, params)?.map_or(Ok(0), |row| row.int(0))?;
    Ok(u64::try_from(counted).unwrap_or(0))
}
