//! Workflows that steps of other workflows have started: their end answers the step that
//! waits for it, and they are cancelled with it.

use ostler_domain::id::{OrgId, WorkflowId};
use ostler_domain::tool::Trust;
use ostler_domain::workflow::ChildEnd;

use super::claim::WorkflowLease;
use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
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

const OPEN_CHILD: Sql = sql!(
    "SELECT spent FROM workflows WHERE org = ?1 AND id = ?2 AND parent IS NOT NULL
       AND status NOT IN ('done', 'failed', 'cancelled')"
);
/// A workflow that has ended is counted by the one that has started it.
const FAMILY_SPENT: Sql = sql!(
    "WITH RECURSIVE above (id, parent) AS (
       SELECT id, parent FROM workflows WHERE org = ?1 AND id = ?2
       UNION ALL
       SELECT w.id, w.parent FROM workflows w JOIN above ON w.id = above.parent WHERE w.org = ?1),
     family (id) AS (
       SELECT id FROM above
       UNION
       SELECT w.id FROM workflows w JOIN family ON w.parent = family.id
       WHERE w.org = ?1 AND w.status NOT IN ('done', 'failed', 'cancelled'))
     SELECT CAST(sum(spent) AS BIGINT) FROM workflows
     WHERE org = ?1 AND id IN (SELECT id FROM family)"
);

impl OrgStore<'_> {
    /// Returns what a workflow, those above it and all that they have started have cost
    /// together, in credits.
    pub fn workflow_family_spent(&self, id: WorkflowId) -> StoreFuture<u64> {
        let org = self.org;
        self.read(move |tx| {
            let row = tx.first(&FAMILY_SPENT, &[org.into(), id.into()])?;
            let spent = row.map_or(Ok(None), |row| row.opt_int(0))?.unwrap_or_default();
            Ok(u64::try_from(spent).unwrap_or_default())
        })
    }
}

/// Tells the step that has started a workflow that it is deleted before its end.
pub(crate) fn answer_parent_of_deleted(tx: &Tx, org: OrgId, workflow: WorkflowId) -> Result<()> {
    let key = [Value::from(org), workflow.into()];
    let Some(row) = tx.first(&OPEN_CHILD, &key)? else { return Ok(()) };
    let spent = u64::try_from(row.int(0)?).unwrap_or_default();
    let reason = "it was deleted with the data of a person".to_owned();
    let Value::Text(end) = Value::json(&ChildEnd::failed(reason, Trust::Trusted, spent))? else {
        return Ok(());
    };
    answer(tx, key, &end)
}

/// Hands the end of a workflow to the step that has started it, if there is one.
pub(super) fn answer_parent(tx: &Tx, lease: WorkflowLease, data: &str) -> Result<()> {
    answer(tx, lease.key(), data)
}

fn answer(tx: &Tx, [org, workflow]: [Value; 2], data: &str) -> Result<()> {
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
