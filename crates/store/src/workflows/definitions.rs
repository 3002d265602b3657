//! Workflow definitions that an org keeps, by name, for schedules and for steps that start
//! another workflow.

use ostler_domain::id::OrgId;
use ostler_domain::workflow::WorkflowDefinition;
use ostler_domain::workflow::definition::MAX_DEFINITIONS;

use super::{check_value_size, schedules};
use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};
use crate::tenancy::orgs::lock_org;

const SAVE: Sql = sql!(
    "INSERT INTO workflow_definitions (org, name, data, saved_at) VALUES (?1, ?2, ?3, now_ms())
     ON CONFLICT (org, name) DO UPDATE SET data = excluded.data, saved_at = excluded.saved_at"
);
const DELETE: Sql = sql!("DELETE FROM workflow_definitions WHERE org = ?1 AND name = ?2");
const GET: Sql = sql!("SELECT data FROM workflow_definitions WHERE org = ?1 AND name = ?2");
const LIST: Sql = sql!("SELECT data FROM workflow_definitions WHERE org = ?1 ORDER BY name");
const COUNT_OTHERS: Sql =
    sql!("SELECT count(*) FROM workflow_definitions WHERE org = ?1 AND name <> ?2");

impl OrgStore<'_> {
    /// Returns the definition with this name, if there is one.
    pub fn workflow_definition(&self, name: &str) -> StoreFuture<Option<WorkflowDefinition>> {
        let (org, name) = (self.org, name.to_owned());
        self.read(move |tx| get(tx, org, &name))
    }
}

/// Returns the definition with this name, inside a transaction.
pub(crate) fn get(tx: &Tx, org: OrgId, name: &str) -> Result<Option<WorkflowDefinition>> {
    let row = tx.first(&GET, &[org.into(), name.into()])?;
    row.as_ref().map(read).transpose()
}

/// Returns all definitions of an org by name, inside a transaction.
pub(crate) fn list(tx: &Tx, org: OrgId) -> Result<Vec<WorkflowDefinition>> {
    tx.query(&LIST, &[org.into()])?.iter().map(read).collect()
}

/// Creates or replaces a definition. Fails with [`StoreError::TooMany`] if the org has too
/// many, and with [`StoreError::TooLarge`] if it is too large to start.
pub(crate) fn save(tx: &Tx, org: OrgId, definition: &WorkflowDefinition) -> Result<()> {
    lock_org(tx, org)?;
    let key = [org.into(), definition.name().into()];
    let others = tx.first(&COUNT_OTHERS, &key)?.map_or(Ok(0), |row| row.int(0))?;
    if others >= MAX_DEFINITIONS as i64 {
        return Err(StoreError::TooMany { what: "workflow definitions", limit: MAX_DEFINITIONS });
    }
    let [org, name] = key;
    let data = Value::json(definition)?;
    check_value_size("workflow definition", &data)?;
    tx.execute(&SAVE, &[org, name, data]).map(drop)
}

/// Deletes a definition. Workflows that were started with it keep their copy.
pub(crate) fn delete(tx: &Tx, org: OrgId, name: &str) -> Result<()> {
    match tx.execute(&DELETE, &[org.into(), name.into()])? {
        0 => Err(StoreError::NotFound("workflow definition")),
        _ => Ok(()),
    }
}

/// Deletes a definition that no schedule and no other definition starts. Fails with
/// [`StoreError::InUse`] otherwise.
pub(crate) fn delete_unused(tx: &Tx, org: OrgId, name: &str) -> Result<()> {
    // Others that save a definition or a schedule wait for it.
    lock_org(tx, org)?;
    let schedules = schedules::list(tx, org)?.into_iter();
    let schedules = schedules.filter(|one| one.workflow == name);
    let definitions = list(tx, org)?.into_iter().filter(|definition| {
        definition.name() != name
            && definition.started_workflows().any(|(_, started)| started == name)
    });
    let users: Vec<String> = schedules
        .map(|one| format!("the schedule `{}`", one.name))
        .chain(definitions.map(|one| format!("the workflow `{}`", one.name())))
        .collect();
    if !users.is_empty() {
        let what = format!("the workflow `{name}`");
        return Err(StoreError::InUse { what, users: users.join(", ") });
    }
    delete(tx, org, name)
}

fn read(row: &Row) -> Result<WorkflowDefinition> {
    row.json(0, "workflow definition")
}
