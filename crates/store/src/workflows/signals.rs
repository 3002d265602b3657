//! Signals to a workflow from outside: answers and cancellation. The sender needs no
//! lease; the current or next lease holder receives them.
//!
//! The workflow's row counts its signals. A worker that releases the lease names the
//! count it has seen; if there are more, the workflow is due again at once, so that no
//! signal is missed.

use ostler_domain::id::{OrgId, WorkflowId};

use super::check_size;
use super::claim::WorkflowLease;
use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::{Result, StoreError};

/// An answer to a question of a step, or an event delivered to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowAnswer {
    pub task: String,
    /// The step's name for the question.
    pub question: String,
    /// JSON.
    pub data: String,
}

/// The signals of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkflowSignals {
    /// The total number of signals so far.
    pub count: i64,
    pub cancelled: bool,
    /// Answers that no step has consumed yet, in order of arrival.
    pub answers: Vec<WorkflowAnswer>,
}

pub(super) const INSERT_ANSWER: Sql = sql!(
    "INSERT INTO workflow_answers (org, workflow, task, question, data, answered_at)
     VALUES (?1, ?2, ?3, ?4, ?5, now_ms())
     ON CONFLICT (org, workflow, task, question) DO NOTHING"
);
/// Makes an unfinished workflow due now.
pub(super) const NOTIFY: Sql = sql!(
    "UPDATE workflows SET signals = signals + 1, due_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND status NOT IN ('done', 'failed', 'cancelled')"
);
const CANCEL: Sql = sql!(
    "UPDATE workflows SET cancelled = 1, signals = signals + 1, due_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND status NOT IN ('done', 'failed', 'cancelled')
       AND cancelled = 0"
);
const EXISTS: Sql = sql!("SELECT 1 FROM workflows WHERE org = ?1 AND id = ?2");
const PENDING_ANSWERS: Sql = sql!(
    "SELECT task, question, data FROM workflow_answers
     WHERE org = ?1 AND workflow = ?2 AND consumed = 0 ORDER BY answered_at, task, question"
);

impl OrgStore<'_> {
    /// Answers a question of a workflow's step. Fails with [`StoreError::Conflict`] if it
    /// is answered already, and with [`StoreError::NotFound`] if the workflow has ended.
    pub fn answer_workflow(&self, id: WorkflowId, answer: WorkflowAnswer) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| self::answer(tx, org, id, &answer))
    }

    /// Cancels a workflow. Returns false if it has ended or was cancelled already.
    pub fn cancel_workflow(&self, id: WorkflowId) -> StoreFuture<bool> {
        let org = self.org;
        self.write(move |tx| cancel(tx, org, id))
    }
}

/// Returns the answers that no step has consumed yet.
pub(super) fn pending_answers(tx: &Tx, lease: WorkflowLease) -> Result<Vec<WorkflowAnswer>> {
    let rows = tx.query(&PENDING_ANSWERS, &lease.key())?;
    let answers = rows.iter().map(|row| {
        let [task, question, data] = [row.text(0)?, row.text(1)?, row.text(2)?].map(str::to_owned);
        Ok(WorkflowAnswer { task, question, data })
    });
    answers.collect()
}

/// Answers a question of a workflow's step, inside a transaction.
pub(crate) fn answer(tx: &Tx, org: OrgId, id: WorkflowId, answer: &WorkflowAnswer) -> Result<()> {
    let WorkflowAnswer { task, question, data } = answer;
    check_size("answer", data)?;
    let key = [Value::from(org), id.into()];
    if tx.execute(&NOTIFY, &key)? == 0 {
        return Err(StoreError::NotFound("workflow that waits"));
    }
    let [org, workflow] = key;
    let [task, question, data] = [task, question, data].map(|text| Value::from(text.as_str()));
    if tx.execute(&INSERT_ANSWER, &[org, workflow, task, question, data])? == 0 {
        return Err(StoreError::Conflict("an answer to this question".to_owned()));
    }
    Ok(())
}

/// Cancels a workflow, inside a transaction.
pub(crate) fn cancel(tx: &Tx, org: OrgId, id: WorkflowId) -> Result<bool> {
    let key = [Value::from(org), id.into()];
    if tx.execute(&CANCEL, &key)? > 0 {
        return Ok(true);
    }
    tx.first(&EXISTS, &key)?.ok_or(StoreError::NotFound("workflow"))?;
    Ok(false)
}
