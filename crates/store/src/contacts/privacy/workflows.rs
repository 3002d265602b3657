//! Workflows about a person: those whose input, state, steps or events name the contact. They
//! end with the person's data. What they have started is cancelled, and a step that waits for
//! one of them fails.

use std::collections::BTreeSet;

use ostler_domain::contact::Contact;
use ostler_domain::id::{OrgId, WorkflowId};
use serde_json::{Value as Json, json};

use super::markers::Marker;

use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::{Result, StoreError};
use crate::workflows::children;

/// Shorter telephone numbers stand in too many texts by chance.
const MIN_NUMBER: usize = 6;

/// The workflows of an org with a text in them.
const FIND: Sql = Sql {
    sqlite:
        "SELECT w.id, w.name, w.input, w.status, w.spent FROM workflows w WHERE w.org = ?1 AND (
         instr(w.input, ?2) > 0 OR instr(w.state, ?2) > 0
         OR EXISTS (SELECT 1 FROM workflow_tasks t WHERE t.org = w.org AND t.workflow = w.id
           AND (instr(t.result, ?2) > 0 OR instr(t.checkpoint, ?2) > 0 OR instr(t.record, ?2) > 0))
         OR EXISTS (SELECT 1 FROM workflow_answers a WHERE a.org = w.org AND a.workflow = w.id
           AND instr(a.data, ?2) > 0)
         OR EXISTS (SELECT 1 FROM workflow_events e WHERE e.org = w.org AND e.workflow = w.id
           AND instr(e.payload, ?2) > 0))
       ORDER BY w.id",
    postgres:
        "SELECT w.id, w.name, w.input, w.status, w.spent FROM workflows w WHERE w.org = $1 AND (
         strpos(w.input, $2) > 0 OR strpos(w.state, $2) > 0
         OR EXISTS (SELECT 1 FROM workflow_tasks t WHERE t.org = w.org AND t.workflow = w.id
           AND (strpos(t.result, $2) > 0 OR strpos(t.checkpoint, $2) > 0
             OR strpos(t.record, $2) > 0))
         OR EXISTS (SELECT 1 FROM workflow_answers a WHERE a.org = w.org AND a.workflow = w.id
           AND strpos(a.data, $2) > 0)
         OR EXISTS (SELECT 1 FROM workflow_events e WHERE e.org = w.org AND e.workflow = w.id
           AND strpos(e.payload, $2) > 0))
       ORDER BY w.id",
};
/// Not while a process works on it: what it stores is found only afterwards.
const DELETE: Sql =
    sql!("DELETE FROM workflows WHERE org = ?1 AND id = ?2 AND lease_until <= now_ms()");
const DELETE_EVENTS: Sql = Sql {
    sqlite: "DELETE FROM workflow_events WHERE org = ?1 AND instr(payload, ?2) > 0",
    postgres: "DELETE FROM workflow_events WHERE org = $1 AND strpos(payload, $2) > 0",
};

/// A workflow about a person.
pub(super) struct PersonalWorkflow {
    pub(super) id: WorkflowId,
    pub(super) data: Json,
    /// In credits.
    spent: u64,
}

/// Returns the workflows about a contact with these markers.
pub(super) fn of_contact(
    tx: &Tx,
    org: OrgId,
    contact: &Contact,
    markers: &[Marker],
) -> Result<Vec<PersonalWorkflow>> {
    let mut found: Vec<PersonalWorkflow> = Vec::new();
    for marker in identifiers(contact, markers) {
        for row in tx.query(&FIND, &[org.into(), marker.into()])? {
            let id: WorkflowId = row.id(0)?;
            if found.iter().all(|known| known.id != id) {
                let input: Json = row.json(2, "input of a workflow")?;
                let data = json!({"id": id, "name": row.text(1)?, "input": input,
                    "status": row.text(3)?});
                let spent = u64::try_from(row.int(4)?).unwrap_or_default();
                found.push(PersonalWorkflow { id, data, spent });
            }
        }
    }
    Ok(found)
}

/// Returns the texts by which a workflow is about a contact. A name alone is not one of them:
/// it is replaced.
fn identifiers<'a>(contact: &'a Contact, markers: &'a [Marker]) -> BTreeSet<&'a str> {
    let number = contact.details.phone.as_deref().filter(|text| text.len() >= MIN_NUMBER);
    let markers = markers.iter().filter(|marker| !marker.is_name()).map(Marker::text);
    markers.chain(number).collect()
}

/// Deletes the workflows about a contact, and the events about it that nobody waited for.
/// Returns the ids of the workflows. Fails with [`StoreError::ConversationBusy`] while a
/// process works on one of them.
pub(super) fn delete(
    tx: &Tx,
    org: OrgId,
    contact: &Contact,
    markers: &[Marker],
) -> Result<Vec<WorkflowId>> {
    let workflows = of_contact(tx, org, contact, markers)?;
    for workflow in &workflows {
        children::end_of_deleted(tx, org, workflow.id, workflow.spent)?;
        if tx.execute(&DELETE, &[org.into(), workflow.id.into()])? == 0 {
            return Err(StoreError::ConversationBusy);
        }
    }
    for marker in identifiers(contact, markers) {
        tx.execute(&DELETE_EVENTS, &[Value::from(org), marker.into()])?;
    }
    Ok(workflows.into_iter().map(|workflow| workflow.id).collect())
}
