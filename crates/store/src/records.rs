//! Business records of any kind: issues, delegations, insights and whatever an
//! org's tools keep. They are listed by org and kind, and a new kind needs no
//! migration.

use ostler_domain::id::{OrgId, RecordId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

/// A record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: RecordId,
    /// How often it was changed, from 1.
    pub version: i64,
    /// All of it, as JSON.
    pub data: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
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
    /// Creates a record.
    pub async fn create_record(&self, kind: &str, id: RecordId, data: String) -> Result<()> {
        self.store.write(Create(self.org, kind.to_owned(), id, data)).await
    }

    /// Changes a record that is still the version that was read. If somebody
    /// else was faster, nothing is changed.
    pub async fn update_record(&self, kind: &str, read: &Record, data: String) -> Result<()> {
        self.store.write(Update(self.org, kind.to_owned(), read.id, read.version, data)).await
    }

    /// A record.
    pub async fn record(&self, kind: &str, id: RecordId) -> Result<Record> {
        self.store.read(Get(self.org, kind.to_owned(), id)).await
    }

    /// The records of a kind after one of them, oldest first.
    pub async fn records(
        &self,
        kind: &str,
        after: Option<RecordId>,
        most: u32,
    ) -> Result<Vec<Record>> {
        let after = after.unwrap_or(RecordId::from_u128(0));
        self.store.read(List(self.org, kind.to_owned(), after, most)).await
    }
}

struct Create(OrgId, String, RecordId, String);

impl Operation for Create {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        create(tx, self.0, &self.1, self.2, &self.3).await
    }
}

/// Creates a record.
pub(crate) async fn create<T: Tx>(
    tx: &T,
    org: OrgId,
    kind: &str,
    id: RecordId,
    data: &str,
) -> Result<()> {
    let params = [org.into(), kind.into(), id.into(), data.into()];
    tx.execute(&CREATE, &params).await.map_err(|error| match error {
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

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        update(tx, self.0, &self.1, self.2, self.3, &self.4).await
    }
}

/// Changes a record that is still the version that was read.
pub(crate) async fn update<T: Tx>(
    tx: &T,
    org: OrgId,
    kind: &str,
    id: RecordId,
    version: i64,
    data: &str,
) -> Result<()> {
    let place = [Value::from(org), kind.into(), id.into()];
    let [org, kind_value, id_value] = place.clone();
    let params = [org, kind_value, id_value, data.into(), version.into()];
    if tx.execute(&UPDATE, &params).await? == 1 {
        return Ok(());
    }
    match tx.first(&GET, &place).await? {
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

    async fn run<T: Tx>(&self, tx: &T) -> Result<Record> {
        let Self(org, kind, id) = self;
        let row = tx.first(&GET, &[(*org).into(), kind.as_str().into(), (*id).into()]).await?;
        record(&row.ok_or(StoreError::NotFound("record"))?)
    }
}

struct List(OrgId, String, RecordId, u32);

impl Operation for List {
    type Output = Vec<Record>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<Record>> {
        let Self(org, kind, after, most) = self;
        let params = [(*org).into(), kind.as_str().into(), (*after).into(), (*most).into()];
        tx.query(&LIST, &params).await?.iter().map(record).collect()
    }
}

fn record(row: &Row) -> Result<Record> {
    Ok(Record {
        id: row.id(0)?,
        version: row.int(1)?,
        data: row.text(2)?.to_owned(),
        created_at: Timestamp::from_millis(row.int(3)?),
        updated_at: Timestamp::from_millis(row.int(4)?),
    })
}
