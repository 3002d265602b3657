//! Leases of workflows: one worker at a time, renewed until released, by the database's
//! clock.

use std::time::Duration;

use ostler_domain::id::{OrgId, WorkflowId};

use super::signals::{WorkflowSignals, pending_answers};
use super::{StoredTask, StoredWorkflow, check_size, get};
use crate::Store;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};

/// A lease of a workflow. Only [`Store::claim_workflow`] creates one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkflowLease {
    pub(super) org: OrgId,
    pub(super) workflow: WorkflowId,
    pub(super) token: i64,
}

impl WorkflowLease {
    /// Returns the org of the workflow.
    pub const fn org(&self) -> OrgId {
        self.org
    }

    /// Returns the leased workflow.
    pub const fn workflow(&self) -> WorkflowId {
        self.workflow
    }

    pub(super) fn key(&self) -> [Value; 2] {
        [self.org.into(), self.workflow.into()]
    }
}

/// Whether a claim counts as an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowAttempt {
    /// The workflow failed to advance.
    Counted,
    /// The obstacle was not the workflow's fault.
    Uncounted,
}

/// A workflow claimed by a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedWorkflow {
    pub lease: WorkflowLease,
    /// Claims since its last commit, including this one.
    pub attempts: u32,
    pub workflow: StoredWorkflow,
    pub tasks: Vec<StoredTask>,
    pub signals: WorkflowSignals,
}

/// Orgs with due workflows, those with the fewest leases first. The query skips along the
/// index from one org to the next, so that a flooded org costs no more than another.
const DUE_ORGS: Sql = sql!(
    "WITH RECURSIVE due (org) AS (
       SELECT (SELECT w.org FROM workflows w
               WHERE w.due_at <= (SELECT now_ms()) ORDER BY w.org LIMIT 1)
       UNION ALL
       SELECT (SELECT w.org FROM workflows w
               WHERE w.due_at <= (SELECT now_ms()) AND w.org > due.org
               ORDER BY w.org LIMIT 1)
       FROM due WHERE due.org IS NOT NULL),
     loaded (org, active) AS (
       SELECT due.org, (SELECT count(*) FROM workflows l
                        WHERE l.org = due.org AND l.lease_until > 0
                          AND l.lease_until > (SELECT now_ms()))
       FROM due WHERE due.org IS NOT NULL)
     SELECT org FROM loaded WHERE active < ?1 ORDER BY active, random()"
);
/// Takes the lease of the workflow of an org that has been due longest.
const CLAIM: Sql = Sql {
    sqlite: "UPDATE workflows SET lease_token = lease_token + 1, lease_until = now_ms() + ?2,
         attempts = attempts + 1
       WHERE org = ?1 AND id = (
         SELECT w.id FROM workflows w
         WHERE w.org = ?1 AND w.due_at <= (SELECT now_ms())
           AND w.lease_until <= (SELECT now_ms())
         ORDER BY w.due_at LIMIT 1)
       RETURNING org, id, lease_token, attempts",
    postgres: "UPDATE workflows SET lease_token = lease_token + 1, lease_until = now_ms() + $2,
         attempts = attempts + 1
       WHERE org = $1 AND id = (
         SELECT w.id FROM workflows w
         WHERE w.org = $1 AND w.due_at <= (SELECT now_ms())
           AND w.lease_until <= (SELECT now_ms())
         ORDER BY w.due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING org, id, lease_token, attempts",
};
const RENEW: Sql = Sql {
    sqlite: "UPDATE workflows SET lease_until = max(lease_until, now_ms() + ?4)
       WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0
       RETURNING signals, cancelled",
    postgres: "UPDATE workflows SET lease_until = greatest(lease_until, now_ms() + $4)
       WHERE org = $1 AND id = $2 AND lease_token = $3 AND lease_until > 0
       RETURNING signals, cancelled",
};
const CHECKPOINT: Sql = sql!(
    "INSERT INTO workflow_tasks (org, workflow, task, checkpoint, updated_at)
     VALUES (?1, ?2, ?3, ?4, now_ms())
     ON CONFLICT (org, workflow, task) DO UPDATE
       SET checkpoint = excluded.checkpoint, updated_at = excluded.updated_at"
);
const CONSUME_ANSWER: Sql = sql!(
    "UPDATE workflow_answers SET consumed = 1
     WHERE org = ?1 AND workflow = ?2 AND task = ?3 AND question = ?4"
);

const RELEASE: Sql = sql!(
    "UPDATE workflows SET lease_until = 0, due_at = now_ms() + ?4, attempts = attempts - ?5
     WHERE org = ?1 AND id = ?2 AND lease_token = ?3"
);

impl Store {
    /// Claims a due workflow with a lease of `ttl`: of the org with the fewest running
    /// workflows, fewer than `max_per_org`, the one that has been due longest. Returns `None`
    /// if there is none.
    pub fn claim_workflow(
        &self,
        ttl: Duration,
        max_per_org: u32,
    ) -> StoreFuture<Option<ClaimedWorkflow>> {
        self.write_all_orgs(move |tx| {
            let Some(row) = claim_row(tx, ttl, max_per_org)? else { return Ok(None) };
            let lease = WorkflowLease { org: row.id(0)?, workflow: row.id(1)?, token: row.int(2)? };
            let attempts = u32::try_from(row.int(3)?).unwrap_or(u32::MAX);
            let (workflow, tasks) = get(tx, lease.org, lease.workflow)?;
            let signals = renew(tx, lease, ttl)?;
            Ok(Some(ClaimedWorkflow { lease, attempts, workflow, tasks, signals }))
        })
    }

    /// Extends a lease to at least `ttl` from now and returns the workflow's signals. Fails
    /// with [`StoreError::StaleLease`] if another worker holds the workflow.
    pub fn renew_workflow_lease(
        &self,
        lease: WorkflowLease,
        ttl: Duration,
    ) -> StoreFuture<WorkflowSignals> {
        self.org(lease.org).write(move |tx| renew(tx, lease, ttl))
    }

    /// Releases a workflow that did not advance; it is due again after `retry_in`.
    pub fn release_workflow(
        &self,
        lease: WorkflowLease,
        retry_in: Duration,
        attempt: WorkflowAttempt,
    ) -> StoreFuture<()> {
        let uncounted = i64::from(attempt == WorkflowAttempt::Uncounted);
        let [org, workflow] = lease.key();
        let params = [org, workflow, lease.token.into(), retry_in.into(), uncounted.into()];
        self.org(lease.org).write(move |tx| tx.execute(&RELEASE, &params).map(drop))
    }

    /// Stores the state of a task's turn before or after an external call, marks the
    /// answers it has consumed, and extends the lease to at least `ttl`.
    pub fn checkpoint_workflow_task(
        &self,
        lease: WorkflowLease,
        task: &str,
        checkpoint: String,
        consumed: &[String],
        ttl: Duration,
    ) -> StoreFuture<()> {
        let (task, consumed) = (task.to_owned(), consumed.to_vec());
        self.org(lease.org).write(move |tx| {
            check_size("turn", &checkpoint)?;
            renew(tx, lease, ttl)?;
            let params = |last: &str| {
                let [org, workflow] = lease.key();
                [org, workflow, task.as_str().into(), last.into()]
            };
            tx.execute(&CHECKPOINT, &params(&checkpoint))?;
            for question in &consumed {
                tx.execute(&CONSUME_ANSWER, &params(question))?;
            }
            Ok(())
        })
    }
}

/// Takes the lease of a due workflow and returns its row.
fn claim_row(tx: &Tx, ttl: Duration, max_per_org: u32) -> Result<Option<Row>> {
    for org in tx.query(&DUE_ORGS, &[max_per_org.into()])? {
        let claimed = tx.first(&CLAIM, &[org.value(0)?, ttl.into()])?;
        if claimed.is_some() {
            return Ok(claimed);
        }
    }
    Ok(None)
}

fn renew(tx: &Tx, lease: WorkflowLease, ttl: Duration) -> Result<WorkflowSignals> {
    let [org, workflow] = lease.key();
    let params = [org, workflow, lease.token.into(), ttl.into()];
    let row = tx.first(&RENEW, &params)?.ok_or(StoreError::StaleLease)?;
    let (count, cancelled) = (row.int(0)?, row.int(1)? != 0);
    Ok(WorkflowSignals { count, cancelled, answers: pending_answers(tx, lease)? })
}
