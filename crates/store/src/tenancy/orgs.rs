//! Orgs: the tenants. Creating and listing them is up to the platform.

use ostler_domain::id::OrgId;
use ostler_domain::org::Org;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::ledger::{change_plan, open_account};
use crate::{OrgStore, Store};

const INSERT: Sql = sql!("INSERT INTO orgs (id, slug, data) VALUES (?1, ?2, ?3)");
const GET: Sql = sql!("SELECT data FROM orgs WHERE id = ?1");
/// Locks the row until the transaction ends, without blocking inserts that only
/// reference it. SQLite has a single writer and needs no lock.
const LOCK: Sql = Sql {
    sqlite: "SELECT data FROM orgs WHERE id = ?1",
    postgres: "SELECT data FROM orgs WHERE id = $1 FOR NO KEY UPDATE",
};
const LIST: Sql = sql!("SELECT data FROM orgs ORDER BY id");
const UPDATE: Sql = sql!("UPDATE orgs SET slug = ?2, data = ?3 WHERE id = ?1");

impl Store {
    /// Creates an org with an empty credit account. Fails with
    /// [`StoreError::Conflict`] if its id or slug is taken.
    pub async fn create_org(&self, org: Org) -> Result<()> {
        self.write(Create(org)).await
    }

    /// Returns every org, ordered by id.
    pub async fn orgs(&self) -> Result<Vec<Org>> {
        self.read(List).await
    }
}

impl OrgStore<'_> {
    /// Returns the org.
    pub async fn org(&self) -> Result<Org> {
        self.store.read(Get(self.org)).await
    }

    /// Replaces everything but the org's id, and moves its credit account to its
    /// plan.
    pub async fn update_org(&self, org: Org) -> Result<()> {
        if org.id != self.org {
            return Err(StoreError::NotFound("organization"));
        }
        self.store.write(Update(org)).await
    }
}

/// Returns the org and locks its row until the transaction ends. Serializes
/// decisions that depend on several rows of an org.
pub(crate) fn lock_org(tx: &Tx, org: OrgId) -> Result<Org> {
    let row = tx.first(&LOCK, &[org.into()])?;
    row.ok_or(StoreError::NotFound("organization"))?.json(0, "organization")
}

struct Create(Org);

impl Operation for Create {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0.id)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let Self(org) = self;
        let params = [org.id.into(), org.slug.as_str().into(), Value::json(org)?];
        tx.execute(&INSERT, &params).map_err(|error| match error {
            StoreError::Conflict(_) => StoreError::Conflict(format!("org `{}`", org.slug)),
            other => other,
        })?;
        tx.batch(&[open_account(org.id)])?;
        Ok(())
    }
}

struct Get(OrgId);

impl Operation for Get {
    type Output = Org;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Org> {
        let row = tx.first(&GET, &[self.0.into()])?;
        row.ok_or(StoreError::NotFound("organization"))?.json(0, "organization")
    }
}

struct List;

impl Operation for List {
    type Output = Vec<Org>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<Vec<Org>> {
        let rows = tx.query(&LIST, &[])?;
        rows.iter().map(|row| row.json(0, "organization")).collect()
    }
}

struct Update(Org);

impl Operation for Update {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0.id)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let Self(org) = self;
        let params = [org.id.into(), org.slug.as_str().into(), Value::json(org)?];
        let account = change_plan(tx, org.id, org.plan)?;
        tx.execute(&UPDATE, &params)?;
        tx.finish(&account).map(|_| ())
    }
}
