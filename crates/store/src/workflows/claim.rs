//! Leases of workflows: one worker at a time, renewed until released, by the database's
//! clock.

use std::time::Duration;

use ostler_domain::id::{OrgId, WorkflowId};

use super::signals::{WorkflowSignals, pending_answers};
use super::{StoredTask, StoredWorkflow, check_size, get};
use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
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

const CLAIM: Sql = Sql {
    sqlite: "UPDATE workflows SET lease_token = lease_token + 1, lease_until = now_ms() + ?1,
         attempts = attempts + 1
       WHERE (org, id) = (
         SELECT w.org, w.id FROM workflows w
         WHERE w.due_at <= (SELECT now_ms()) AND w.lease_until <= (SELECT now_ms())
         ORDER BY w.due_at LIMIT 1)
       RETURNING org, id, lease_token, attempts",
    postgres: "UPDATE workflows SET lease_token = lease_token + 1, lease_until = now_ms() + $1,
         attempts = attempts + 1
       WHERE (org, id) = (
         SELECT w.org, w.id FROM workflows w
         WHERE w.due_at <= (SELECT now_ms()) AND w.lease_until <= (SELECT now_ms())
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
    /// Claims the workflow of any org that has been due longest, with a lease of `ttl`.
    /// Returns `None` if none is due.
    pub async fn claim_workflow(&self, ttl: Duration) -> Result<Option<ClaimedWorkflow>> {
        self.write(Claim(ttl)).await
    }

    /// Extends a lease to at least `ttl` from now and returns the workflow's signals. Fails
    /// with [`StoreError::StaleLease`] if another worker holds the workflow.
    pub async fn renew_workflow_lease(
        &self,
        lease: WorkflowLease,
        ttl: Duration,
    ) -> Result<WorkflowSignals> {
        self.write(Renew(lease, ttl)).await
    }

    /// Releases a workflow that did not advance; it is due again after `retry_in`.
    pub async fn release_workflow(
        &self,
        lease: WorkflowLease,
        retry_in: Duration,
        attempt: WorkflowAttempt,
    ) -> Result<()> {
        self.write(Release(lease, retry_in, attempt)).await
    }

    /// Stores the state of a task's turn before or after an external call, marks the
    /// answers it has consumed, and extends the lease to at least `ttl`.
    pub async fn checkpoint_workflow_task(
        &self,
        lease: WorkflowLease,
        task: &str,
        checkpoint: String,
        consumed: &[String],
        ttl: Duration,
    ) -> Result<()> {
        let (task, consumed) = (task.to_owned(), consumed.to_vec());
        self.write(CheckpointTask { lease, task, checkpoint, consumed, ttl }).await
    }
}

struct Claim(Duration);

impl Operation for Claim {
    type Output = Option<ClaimedWorkflow>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<Self::Output> {
        let Some(row) = tx.first(&CLAIM, &[self.0.into()])? else { return Ok(None) };
        let lease = WorkflowLease { org: row.id(0)?, workflow: row.id(1)?, token: row.int(2)? };
        let attempts = u32::try_from(row.int(3)?).unwrap_or(u32::MAX);
        let (workflow, tasks) = get(tx, lease.org, lease.workflow)?;
        let signals = renew(tx, lease, self.0)?;
        Ok(Some(ClaimedWorkflow { lease, attempts, workflow, tasks, signals }))
    }
}

struct Renew(WorkflowLease, Duration);

impl Operation for Renew {
    type Output = WorkflowSignals;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    fn run(&self, tx: &Tx) -> Result<WorkflowSignals> {
        renew(tx, self.0, self.1)
    }
}

struct Release(WorkflowLease, Duration, WorkflowAttempt);

impl Operation for Release {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let [org, workflow] = self.0.key();
        let uncounted = i64::from(self.2 == WorkflowAttempt::Uncounted);
        let params = [org, workflow, self.0.token.into(), self.1.into(), uncounted.into()];
        tx.execute(&RELEASE, &params).map(drop)
    }
}

fn renew(tx: &Tx, lease: WorkflowLease, ttl: Duration) -> Result<WorkflowSignals> {
    let [org, workflow] = lease.key();
    let params = [org, workflow, lease.token.into(), ttl.into()];
    let row = tx.first(&RENEW, &params)?.ok_or(StoreError::StaleLease)?;
    let (count, cancelled) = (row.int(0)?, row.int(1)? != 0);
    Ok(WorkflowSignals { count, cancelled, answers: pending_answers(tx, lease)? })
}

struct CheckpointTask {
    lease: WorkflowLease,
    task: String,
    checkpoint: String,
    consumed: Vec<String>,
    ttl: Duration,
}

impl Operation for CheckpointTask {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.lease.org)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        check_size("turn", &self.checkpoint)?;
        renew(tx, self.lease, self.ttl)?;
        let params = |last: &str| {
            let [org, workflow] = self.lease.key();
            [org, workflow, self.task.as_str().into(), last.into()]
        };
        tx.execute(&CHECKPOINT, &params(&self.checkpoint))?;
        for question in &self.consumed {
            tx.execute(&CONSUME_ANSWER, &params(question))?;
        }
        Ok(())
    }
}
