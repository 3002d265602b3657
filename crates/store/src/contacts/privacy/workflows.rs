//! Workflows about a person: those whose input, state, steps or events name the contact, by
//! its id, its e-mail address or its telephone number. They end with the person's data.

use ostler_domain::contact::Contact;
use ostler_domain::id::{OrgId, WorkflowId};
use serde_json::{Value as Json, json};

use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::{Result, StoreError};
use crate::workflows::children;

/// Shorter details stand in too many texts by chance.
const MIN_MARKER: usize = 6;

/// The workflows of an org with a text in them.
const FIND: Sql = Sql {
    sqlite: "SELECT w.id, w.name, w.input, w.status FROM workflows w WHERE w.org = ?1 AND (
         instr(w.input, ?2) > 0 OR instr(w.state, ?2) > 0
         OR EXISTS (SELECT 1 FROM workflow_tasks t WHERE t.org = w.org AND t.workflow = w.id
           AND (instr(t.result, ?2) > 0 OR instr(t.checkpoint, ?2) > 0 OR instr(t.record, ?2) > 0))
         OR EXISTS (SELECT 1 FROM workflow_answers a WHERE a.org = w.org AND a.workflow = w.id
           AND instr(a.data, ?2) > 0)
         OR EXISTS (SELECT 1 FROM workflow_events e WHERE e.org = w.org AND e.workflow = w.id
           AND instr(e.payload, ?2) > 0))
       ORDER BY w.id",
    postgres: "SELECT w.id, w.name, w.input, w.status FROM workflows w WHERE w.org = $1 AND (
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
}

/// Returns the texts by which workflows name a contact.
fn markers(contact: &Contact) -> Vec<String> {
    let details = [contact.details.email.clone(), contact.details.phone.clone()];
    let details = details.into_iter().flatten().filter(|text| text.len() >= MIN_MARKER);
    details.chain([contact.id.to_string()]).collect()
}

/// Returns the workflows about a contact.
pub(super) fn of_contact(tx: &Tx, org: OrgId, contact: &Contact) -> Result<Vec<PersonalWorkflow>> {
    let mut found: Vec<PersonalWorkflow> = Vec::new();
    for marker in markers(contact) {
        for row in tx.query(&FIND, &[org.into(), marker.into()])? {
            let id: WorkflowId = row.id(0)?;
            if found.iter().all(|known| known.id != id) {
                let input: Json = row.json(2, "input of a workflow")?;
                let data = json!({"id": id, "name": row.text(1)?, "input": input,
                    "status": row.text(3)?});
                found.push(PersonalWorkflow { id, data });
            }
        }
    }
    Ok(found)
}

/// Deletes the workflows about a contact, and the events about it that nobody waited for.
/// Steps of other workflows that wait for one of them fail.
/// Returns the ids of the workflows. Fails with [`StoreError::ConversationBusy`] while a
/// process works on one of them.
pub(super) fn delete(tx: &Tx, org: OrgId, contact: &Contact) -> Result<Vec<WorkflowId>> {
    let workflows = of_contact(tx, org, contact)?;
    for workflow in &workflows {
        children::answer_parent_of_deleted(tx, org, workflow.id)?;
        if tx.execute(&DELETE, &[org.into(), workflow.id.into()])? == 0 {
            return Err(StoreError::ConversationBusy);
        }
    }
    for marker in markers(contact) {
        tx.execute(&DELETE_EVENTS, &[Value::from(org), marker.into()])?;
    }
    Ok(workflows.into_iter().map(|workflow| workflow.id).collect())
}
