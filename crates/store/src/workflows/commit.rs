//! One step further: what came of tasks, what it cost, what tools want stored and
//! how far the workflow is now are one transaction, and only whoever has the
//! workflow can make it.

use std::time::Duration;

use ostler_domain::workflow::EventName;

use super::claim::WorkflowLease;
use super::{StoredTask, check_size, events};
use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::changes::{self, Change};
use crate::error::{Result, StoreError};
use crate::ledger::{Settle, charge};
use crate::turn::{outdated, statement};

/// A step further.
#[derive(Debug, Clone)]
pub struct WorkflowCommit {
    /// The right to it.
    pub lease: WorkflowLease,
    /// Where the whole stands now, in a word.
    pub status: String,
    /// How far it is now, as JSON.
    pub state: String,
    /// What it cost besides, in credits.
    pub spent: u64,
    /// What came of tasks.
    pub tasks: Vec<StoredTask>,
    /// Answers that tasks have gone on with: the task and the question.
    pub taken: Vec<(String, String)>,
    /// Steps that begin to wait for an event.
    pub waits: Vec<WorkflowWait>,
    /// Whether no step waits for an event any more.
    pub waits_over: bool,
    /// What local tools want stored.
    pub changes: Vec<Change>,
    /// What turns cost.
    pub settle: Vec<Settle>,
    /// For how long it is kept from others from now on, if it is.
    pub lasts: Duration,
    /// What becomes of the lease.
    pub then: AfterCommit,
}

/// A step that begins to wait for an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowWait {
    /// What the step does.
    pub task: String,
    /// What it waits for.
    pub event: EventName,
    /// By which name it knows the answer.
    pub question: String,
}

/// What becomes of the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCommit {
    /// There is more to do.
    Keep,
    /// Nothing can be done now.
    Release {
        /// How much of what was said to it is known. If there is more, somebody is
        /// to look at it at once.
        heard: i64,
        /// When somebody is to look at it again anyway.
        again_in: Option<Duration>,
    },
    /// It is over.
    Over,
}

/// What is kept for longer, for a call outside, stays so.
const FENCE: Sql = Sql {
    sqlite: "UPDATE workflows SET status = ?4, state = ?5, spent = spent + ?6, tries = 0,
         lease_until = max(lease_until, now_ms() + ?7), updated_at = now_ms()
       WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0",
    postgres: "UPDATE workflows SET status = $4, state = $5, spent = spent + $6, tries = 0,
         lease_until = greatest(lease_until, now_ms() + $7), updated_at = now_ms()
       WHERE org = $1 AND id = $2 AND lease_token = $3 AND lease_until > 0",
};
const TASK: Sql = sql!(
    "INSERT INTO workflow_tasks (org, workflow, task, result, saved, record, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms())
     ON CONFLICT (org, workflow, task) DO UPDATE
       SET result = coalesce(excluded.result, workflow_tasks.result), saved = excluded.saved,
         record = coalesce(excluded.record, workflow_tasks.record),
         updated_at = excluded.updated_at"
);
const TAKEN: Sql = sql!(
    "UPDATE workflow_answers SET taken = 1
     WHERE org = ?1 AND workflow = ?2 AND task = ?3 AND question = ?4"
);
const RELEASE: Sql = sql!(
    "UPDATE workflows SET lease_until = 0,
       due_at = CASE WHEN heard = ?3 THEN now_ms() + ?4 ELSE now_ms() END
     WHERE org = ?1 AND id = ?2"
);
const OVER: Sql =
    sql!("UPDATE workflows SET lease_until = 0, due_at = NULL WHERE org = ?1 AND id = ?2");
const WAITS_OVER: Sql = sql!("DELETE FROM workflow_waits WHERE org = ?1 AND workflow = ?2");

impl Store {
    /// Commits a step further. Refused as [`StoreError::StaleLease`] if another
    /// worker has the workflow, and as [`StoreError::Outdated`] if somebody else
    /// was faster with one of its changes; then the lease stands.
    pub async fn commit_workflow(&self, commit: WorkflowCommit) -> Result<()> {
        self.write(Commit(commit)).await
    }
}

struct Commit(WorkflowCommit);

impl Operation for Commit {
    type Output = ();

    fn scope(&self) -> Scope {
        let org = self.0.lease.org;
        let payer = self.0.settle.iter().map(|settle| settle.payer).find(|payer| *payer != org);
        payer.map_or(Scope::Org(org), |payer| Scope::And(org, payer))
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let commit = &self.0;
        check_size("workflow", &commit.state)?;
        // Names of events are locked before the row, as whoever publishes does.
        events::lock(tx, commit.lease, &commit.waits).await?;
        let [org, workflow] = commit.lease.place();
        let params = [
            org,
            workflow,
            commit.lease.token.into(),
            commit.status.as_str().into(),
            commit.state.as_str().into(),
            i64::try_from(commit.spent).unwrap_or(i64::MAX).into(),
            commit.lasts.into(),
        ];
        if tx.execute(&FENCE, &params).await? == 0 {
            return Err(StoreError::StaleLease);
        }
        changes::make(tx, commit.lease.org, &commit.changes).await.map_err(outdated)?;
        for wait in &commit.waits {
            events::wait(tx, commit.lease, wait).await?;
        }
        tx.finish(&self.follow()?).await.map(drop)
    }
}

impl Commit {
    fn follow(&self) -> Result<Vec<Statement>> {
        let commit = &self.0;
        let mut all = Vec::new();
        let place = || commit.lease.place();
        for StoredTask { task, result, saved, record } in &commit.tasks {
            for text in [result, saved, record].into_iter().flatten() {
                check_size("result", text)?;
            }
            let [org, workflow] = place();
            let texts = [result, saved, record].map(|text| Value::from(text.clone()));
            let [result, saved, record] = texts;
            all.push(statement(
                &TASK,
                [org, workflow, task.as_str().into(), result, saved, record],
            ));
        }
        for (task, question) in &commit.taken {
            let [org, workflow] = place();
            let params = [org, workflow, task.as_str().into(), question.as_str().into()];
            all.push(statement(&TAKEN, params));
        }
        for settle in &commit.settle {
            all.push(charge(settle)?);
        }
        if commit.waits_over {
            all.push(statement(&WAITS_OVER, place()));
        }
        match commit.then {
            AfterCommit::Keep => {}
            AfterCommit::Release { heard, again_in } => {
                let [org, workflow] = place();
                all.push(statement(&RELEASE, [org, workflow, heard.into(), again_in.into()]));
            }
            AfterCommit::Over => all.push(statement(&OVER, place())),
        }
        Ok(all)
    }
}
