//! Named events that workflow steps wait for. An event without a waiting step is
//! stored; each is delivered to one step, once. Publishing and waiting take a lock on
//! the event's name, so that neither misses the other.

use ostler_domain::id::{EventId, OrgId, WorkflowId};
use ostler_domain::workflow::EventName;

use super::check_size;
use super::claim::WorkflowLease;
use super::commit::WorkflowWait;
use super::signals::{INSERT_ANSWER, NOTIFY};
use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::Result;

/// The result of publishing an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishOutcome {
    /// Delivered to a waiting step.
    Delivered { workflow: WorkflowId, task: String },
    /// No step waited; stored for the first that does.
    Stored,
    /// Published before.
    Duplicate,
}

/// SQLite has a single writer and needs no lock.
const LOCK: Sql = Sql {
    sqlite: "SELECT ?1, ?2",
    postgres: "SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex') || $2, 0))",
};
const PUBLISH: Sql = sql!(
    "INSERT INTO workflow_events (org, id, name, payload, published_at)
     VALUES (?1, ?2, ?3, ?4, now_ms()) ON CONFLICT (org, id) DO NOTHING"
);
const WAITING: Sql = sql!(
    "SELECT w.workflow, w.task, w.question FROM workflow_waits w
     WHERE w.org = ?1 AND w.event = ?2 ORDER BY w.since, w.workflow, w.task LIMIT 1"
);
const STORED: Sql = sql!(
    "SELECT id, payload FROM workflow_events
     WHERE org = ?1 AND name = ?2 AND workflow IS NULL ORDER BY published_at, id LIMIT 1"
);
const SET_RECEIVER: Sql =
    sql!("UPDATE workflow_events SET workflow = ?3, task = ?4 WHERE org = ?1 AND id = ?2");
const WAIT: Sql = sql!(
    "INSERT INTO workflow_waits (org, workflow, task, event, question, since)
     VALUES (?1, ?2, ?3, ?4, ?5, now_ms())
     ON CONFLICT (org, workflow, task) DO UPDATE
       SET event = excluded.event, question = excluded.question"
);
const DELETE_WAIT: Sql =
    sql!("DELETE FROM workflow_waits WHERE org = ?1 AND workflow = ?2 AND task = ?3");

impl OrgStore<'_> {
    /// Publishes an event: delivers it to the step that has waited longest, or stores it
    /// for the first that will. Publishing the same id again does nothing.
    pub fn publish_event(
        &self,
        id: EventId,
        name: EventName,
        payload: String,
    ) -> StoreFuture<PublishOutcome> {
        let org = self.org;
        self.write(move |tx| publish(tx, org, id, &name, &payload))
    }
}

/// Publishes an event, inside a transaction.
pub(crate) fn publish(
    tx: &Tx,
    org: OrgId,
    id: EventId,
    name: &EventName,
    payload: &str,
) -> Result<PublishOutcome> {
    check_size("event", payload)?;
    let (org, name) = (Value::from(org), Value::from(name.as_str()));
    tx.execute(&LOCK, &[org.clone(), name.clone()])?;
    let payload = Value::from(payload);
    let event = [org.clone(), id.into(), name.clone(), payload.clone()];
    if tx.execute(&PUBLISH, &event)? == 0 {
        return Ok(PublishOutcome::Duplicate);
    }
    while let Some(row) = tx.first(&WAITING, &[org.clone(), name.clone()])? {
        let (workflow, task, question) = (row.value(0)?, row.value(1)?, row.value(2)?);
        let waiting = [org.clone(), workflow.clone(), task.clone()];
        tx.execute(&DELETE_WAIT, &waiting)?;
        // A workflow that has ended does not wait any more.
        if tx.execute(&NOTIFY, &[org.clone(), workflow.clone()])? > 0 {
            let receiver = [org.clone(), id.into(), workflow.clone(), task.clone()];
            tx.execute(&SET_RECEIVER, &receiver)?;
            tx.execute(&INSERT_ANSWER, &[org, workflow, task, question, payload])?;
            return Ok(PublishOutcome::Delivered {
                workflow: row.id(0)?,
                task: row.text(1)?.into(),
            });
        }
    }
    Ok(PublishOutcome::Stored)
}

/// Locks the names of the awaited events, in a fixed order.
pub(super) fn lock_names(tx: &Tx, lease: WorkflowLease, waits: &[WorkflowWait]) -> Result<()> {
    let mut names: Vec<&str> = waits.iter().map(|wait| wait.event.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        tx.execute(&LOCK, &[lease.org.into(), name.into()])?;
    }
    Ok(())
}

/// Makes a step wait, or delivers a stored event to it. The names are locked.
pub(super) fn start_wait(tx: &Tx, lease: WorkflowLease, wait: &WorkflowWait) -> Result<()> {
    let [org, workflow] = lease.key();
    let (task, event) = (Value::from(wait.task.as_str()), Value::from(wait.event.as_str()));
    let question = Value::from(wait.question.as_str());
    let Some(stored) = tx.first(&STORED, &[org.clone(), event.clone()])? else {
        return tx.execute(&WAIT, &[org, workflow, task, event, question]).map(drop);
    };
    let receiver = [org.clone(), stored.value(0)?, workflow.clone(), task.clone()];
    tx.execute(&SET_RECEIVER, &receiver)?;
    tx.execute(&NOTIFY, &[org.clone(), workflow.clone()])?;
    tx.execute(&INSERT_ANSWER, &[org, workflow, task, question, stored.value(1)?]).map(drop)
}
