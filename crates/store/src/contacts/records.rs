//! Business records: issues, delegations between orgs, insights and anything an
//! org's tools store. They are listed by org and kind; a new kind needs no
//! migration.

use ostler_domain::id::{OrgId, RecordId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
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
const GET: Sql = sql!(
    "SELECT id, version, data, created_at, updated_at FROM records
     WHERE org = ?1 AND kind = ?2 AND id = ?3"
);
const LIST: Sql = sql!(
    "SELECT id, version, data, created_at, updated_at FROM records
     WHERE org = ?1 AND kind = ?2 AND id > ?3 ORDER BY id LIMIT ?4"
);

impl OrgStore<'_> {
    /// Creates a record. Fails with [`StoreError::Conflict`] if its id is taken.
    pub async fn create_record(&self, kind: &str, id: RecordId, data: String) -> Result<()> {
        self.store.write(Create(self.org, kind.to_owned(), id, data)).await
    }

    /// Replaces a record that is still at the version of `read`. Fails with
    /// [`StoreError::Conflict`] if it has changed since.
    pub async fn update_record(&self, kind: &str, read: &Record, data: String) -> Result<()> {
        self.store.write(Update(self.org, kind.to_owned(), read.id, read.version, data)).await
    }

    /// Returns a record.
    pub async fn record(&self, kind: &str, id: RecordId) -> Result<Record> {
        self.store.read(Get(self.org, kind.to_owned(), id)).await
    }

    /// Returns the records of a kind after `after`, oldest first.
    pub async fn records(
        &self,
        kind: &str,
        after: Option<RecordId>,
        limit: u32,
    ) -> Result<Vec<Record>> {
        let after = after.unwrap_or(RecordId::from_u128(0));
        self.store.read(List(self.org, kind.to_owned(), after, limit)).await
    }
}

struct Create(OrgId, String, RecordId, String);

impl Operation for Create {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        create(tx, self.0, &self.1, self.2, &self.3)
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

struct Update(OrgId, String, RecordId, i64, String);

impl Operation for Update {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        update(tx, self.0, &self.1, self.2, self.3, &self.4)
    }
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

struct Get(OrgId, String, RecordId);

impl Operation for Get {
    type Output = Record;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Record> {
        let Self(org, kind, id) = self;
        let row = tx.first(&GET, &[(*org).into(), kind.as_str().into(), (*id).into()])?;
        read_record(&row.ok_or(StoreError::NotFound("record"))?)
    }
}

struct List(OrgId, String, RecordId, u32);

impl Operation for List {
    type Output = Vec<Record>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<Record>> {
        let Self(org, kind, after, limit) = self;
        let params = [(*org).into(), kind.as_str().into(), (*after).into(), (*limit).into()];
        tx.query(&LIST, &params)?.iter().map(read_record).collect()
    }
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
