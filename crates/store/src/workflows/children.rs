//! Workflows that steps of other workflows have started: their end answers the step that
//! waits for it, and they are cancelled with it.

use ostler_domain::id::{OrgId, WorkflowId};
use ostler_domain::tool::Trust;
use serde::{Deserialize, Serialize};

use super::claim::WorkflowLease;
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::Result;

/// The end of a child, for the step that has started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// The result, if it is done.
    pub result: Option<String>,
    /// Why it is not.
    pub reason: Option<String>,
    pub trust: Trust,
    /// In credits, with its own children.
    pub spent: u64,
}

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
    answer(tx, lease.key(), data.into())
}

fn answer(tx: &Tx, key: [Value; 2], data: Value) -> Result<()> {
    let [org, workflow] = key.clone();
    if tx.execute(&ANSWER_PARENT, &[org, workflow, data])? > 0 {
        tx.execute(&NOTIFY_PARENT, &key)?;
    }
    Ok(())
}

/// Cancels what a workflow that is about to be deleted has started, and fails the step that
/// waits for it.
pub(crate) fn end_of_deleted(tx: &Tx, org: OrgId, workflow: WorkflowId, spent: u64) -> Result<()> {
    let key = || [org.into(), workflow.into()];
    tx.execute(&CANCEL_CHILDREN, &key())?;
    let reason = Some("it was deleted with the data of a person".to_owned());
    let end = ChildEnd { result: None, reason, trust: Trust::Trusted, spent };
    answer(tx, key(), Value::json(&end)?)
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
