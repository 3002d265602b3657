//! Business records: issues, delegations between orgs, insights and anything an
//! org's tools store. They are listed by org and kind; a new kind needs no
//! migration.

use ostler_domain::id::{OrgId, RecordId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

/// A stored business record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub id: RecordId,
    /// Starts at 1 and grows with each change.
    pub version: i64,
    /// JSON.
    pub data: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

const CREATE: Sql = sql!(
    "INSERT INTO records (org, kind, id, version, data, created_at, updated_at)
     VALUES (?1, ?2, ?3, 1, ?4, now_ms(), now_ms())"
);
const UPDATE: Sql = sql!(
    "UPDATE records SET version = version + 1, data = ?4, updated_at = now_ms()
     WHERE org = ?1 AND kind = ?2 AND id = ?3 AND version = ?5"
);
const DELETE: Sql =
    sql!("DELETE FROM records WHERE org = ?1 AND kind = ?2 AND id = ?3 AND version = ?4");
const GET: Sql = sql!(
    "SELECT id, version, data, created_at, updated_at FROM records
     WHERE org = ?1 AND kind = ?2 AND id = ?3"
);
const LIST: Sql = sql!(
    "SELECT id, version, data, created_at, updated_at FROM records
     WHERE org = ?1 AND kind = ?2 AND id > ?3 ORDER BY id LIMIT ?4"
);
const NEWEST: Sql = sql!(
    "SELECT id, version, data, created_at, updated_at FROM records
     WHERE org = ?1 AND kind = ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4"
);

impl OrgStore<'_> {
    /// Creates a record. Fails with [`StoreError::Conflict`] if its id is taken.
    pub fn create_record(&self, kind: &str, id: RecordId, data: String) -> StoreFuture<()> {
        let (org, kind) = (self.org, kind.to_owned());
        self.write(move |tx| create(tx, org, &kind, id, &data))
    }

    /// Replaces a record that is still at the version of `read`. Fails with
    /// [`StoreError::Conflict`] if it has changed since.
    pub fn update_record(&self, kind: &str, read: &Record, data: String) -> StoreFuture<()> {
        let (org, kind, id, version) = (self.org, kind.to_owned(), read.id, read.version);
        self.write(move |tx| update(tx, org, &kind, id, version, &data))
    }

    /// Returns a record.
    pub fn record(&self, kind: &str, id: RecordId) -> StoreFuture<Record> {
        self.one("record", &GET, [kind.into(), id.into()], read_record)
    }

    /// Returns the records of a kind after `after`, oldest first.
    pub fn records(
        &self,
        kind: &str,
        after: Option<RecordId>,
        limit: u32,
    ) -> StoreFuture<Vec<Record>> {
        let after = after.unwrap_or(RecordId::from_u128(0));
        self.rows(&LIST, [kind.into(), after.into(), limit.into()], read_record)
    }

    /// Returns the records of a kind before `before`, newest first.
    pub fn newest_records(
        &self,
        kind: &str,
        before: Option<RecordId>,
        limit: u32,
    ) -> StoreFuture<Vec<Record>> {
        let before = before.unwrap_or(RecordId::from_u128(u128::MAX));
        self.rows(&NEWEST, [kind.into(), before.into(), limit.into()], read_record)
    }
}

/// Creates a record, inside a transaction.
pub(crate) fn create(tx: &Tx, org: OrgId, kind: &str, id: RecordId, data: &str) -> Result<()> {
    let params = [org.into(), kind.into(), id.into(), data.into()];
    tx.execute(&CREATE, &params).map_err(|error| match error {
        StoreError::Conflict(_) => StoreError::Conflict(format!("{kind} {id}")),
        other => other,
    })?;
    Ok(())
}

/// Replaces a record that is still at `version`, inside a transaction.
pub(crate) fn update(
    tx: &Tx,
    org: OrgId,
    kind: &str,
    id: RecordId,
    version: i64,
    data: &str,
) -> Result<()> {
    let key = [Value::from(org), kind.into(), id.into()];
    let [org, kind_value, id_value] = key.clone();
    let params = [org, kind_value, id_value, data.into(), version.into()];
    if tx.execute(&UPDATE, &params)? == 1 {
        return Ok(());
    }
    match tx.first(&GET, &key)? {
        Some(_) => Err(StoreError::Conflict(format!("a newer version of {kind} {id}"))),
        None => Err(StoreError::NotFound("record")),
    }
}

/// Deletes a record that is still at `version`, inside a transaction.
pub(crate) fn delete(tx: &Tx, org: OrgId, kind: &str, id: RecordId, version: i64) -> Result<()> {
    let key = [Value::from(org), kind.into(), id.into()];
    let params: Vec<Value> = key.iter().cloned().chain([version.into()]).collect();
    if tx.execute(&DELETE, &params)? == 1 {
        return Ok(());
    }
    match tx.first(&GET, &key)? {
        Some(_) => Err(StoreError::Conflict(format!("a newer version of {kind} {id}"))),
        None => Err(StoreError::NotFound("record")),
    }
}

/// The statement that creates a record, for a batch.
pub(crate) fn create_statement(org: OrgId, kind: &str, id: RecordId, data: &str) -> Statement {
    let params = vec![org.into(), kind.into(), id.into(), data.into()];
    Statement { sql: &CREATE, params, on_no_rows: None }
}

/// The statement that replaces a record at `version`, for a batch.
pub(crate) fn update_statement(
    org: OrgId,
    kind: &str,
    id: RecordId,
    version: i64,
    data: &str,
) -> Statement {
    let params = vec![org.into(), kind.into(), id.into(), data.into(), version.into()];
    Statement { sql: &UPDATE, params, on_no_rows: None }
}

fn read_record(row: &Row) -> Result<Record> {
    Ok(Record {
        id: row.id(0)?,
        version: row.int(1)?,
        data: row.text(2)?.to_owned(),
        created_at: Timestamp::from_millis(row.int(3)?),
        updated_at: Timestamp::from_millis(row.int(4)?),
    })
}
