//! Workflows that steps of other workflows have started: their end answers the step that
//! waits for it, and they are cancelled with it.

use super::claim::WorkflowLease;
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::error::Result;

/// Answers the question of the parent's step, unless the parent is gone.
const ANSWER_PARENT: Sql = sql!(
    "INSERT INTO workflow_answers (org, workflow, task, question, data, answered_at)
     SELECT w.org, w.parent, w.parent_task, w.parent_question, ?3, now_ms() FROM workflows w
     WHERE w.org = ?1 AND w.id = ?2 AND EXISTS (
       SELECT 1 FROM workflows p WHERE p.org = w.org AND p.id = w.parent)
     ON CONFLICT (org, workflow, task, question) DO NOTHING"
);
const NOTIFY_PARENT: Sql = sql!(
    "UPDATE workflows SET signals = signals + 1, due_at = now_ms()
     WHERE org = ?1 AND status NOT IN ('done', 'failed', 'cancelled')
       AND id = (SELECT w.parent FROM workflows w WHERE w.org = ?1 AND w.id = ?2)"
);
/// Not those that undo a step.
const CANCEL_CHILDREN: Sql = sql!(
    "UPDATE workflows SET cancelled = 1, signals = signals + 1, due_at = now_ms()
     WHERE org = ?1 AND parent = ?2 AND cancelled = 0 AND parent_task NOT LIKE '%!undo'
       AND status NOT IN ('done', 'failed', 'cancelled')"
);
const CANCEL_CHILD: Sql = sql!(
    "UPDATE workflows SET cancelled = 1, signals = signals + 1, due_at = now_ms()
     WHERE org = ?1 AND parent = ?2 AND parent_task = ?3 AND cancelled = 0
       AND status NOT IN ('done', 'failed', 'cancelled')"
);

/// Hands the end of a workflow to the step that has started it, if there is one.
pub(super) fn answer_parent(tx: &Tx, lease: WorkflowLease, data: &str) -> Result<()> {
    let [org, workflow] = lease.key();
    if tx.execute(&ANSWER_PARENT, &[org.clone(), workflow.clone(), data.into()])? > 0 {
        tx.execute(&NOTIFY_PARENT, &[org, workflow])?;
    }
    Ok(())
}

/// Cancels all workflows that the steps of a workflow have started.
pub(super) fn cancel_all(tx: &Tx, lease: WorkflowLease) -> Result<()> {
    tx.execute(&CANCEL_CHILDREN, &lease.key()).map(drop)
}

/// Cancels the workflow that a task has started, if there is one.
pub(super) fn cancel_of_task(tx: &Tx, lease: WorkflowLease, task: &str) -> Result<()> {
    let [org, workflow] = lease.key();
    tx.execute(&CANCEL_CHILD, &[org, workflow, task.into()]).map(drop)
}
