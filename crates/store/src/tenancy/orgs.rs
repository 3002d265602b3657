//! Orgs: the tenants. Creating and listing them is up to the platform.

use ostler_domain::id::OrgId;
use ostler_domain::org::Org;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::{Result, StoreError};
use crate::ledger::{change_plan, open_account};
use crate::workflows::schedules::{self, EarlierDueTimes};
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
const BY_SLUG: Sql = sql!("SELECT id FROM orgs WHERE slug = ?1");
const UPDATE: Sql = sql!("UPDATE orgs SET slug = ?2, data = ?3 WHERE id = ?1");

impl Store {
    /// Creates an org with an empty credit account. Fails with
    /// [`StoreError::Conflict`] if its id or slug is taken.
    pub fn create_org(&self, org: Org) -> StoreFuture<()> {
        self.org(org.id).write(move |tx| create(tx, &org))
    }

    /// Returns the id of the org with a slug.
    pub fn org_by_slug(&self, slug: &str) -> StoreFuture<Option<OrgId>> {
        let params = [Value::from(slug)];
        self.read_all_orgs(move |tx| tx.first(&BY_SLUG, &params)?.map(|row| row.id(0)).transpose())
    }

    /// Returns every org, ordered by id.
    pub fn orgs(&self) -> StoreFuture<Vec<Org>> {
        self.read_all_orgs(|tx| {
            tx.query(&LIST, &[])?.iter().map(|row| row.json(0, "organization")).collect()
        })
    }
}

impl OrgStore<'_> {
    /// Returns the org.
    pub fn org(&self) -> StoreFuture<Org> {
        self.one("organization", &GET, [], |row| row.json(0, "organization"))
    }

    /// Replaces everything but the org's id, and moves its credit account to its
    /// plan.
    pub async fn update_org(&self, org: Org) -> Result<()> {
        if org.id != self.org {
            return Err(StoreError::NotFound("organization"));
        }
        self.write(move |tx| update(tx, &org)).await
    }
}

/// Creates an org with an empty credit account, inside a transaction.
pub(crate) fn create(tx: &Tx, org: &Org) -> Result<()> {
    let params = [org.id.into(), org.slug.as_str().into(), Value::json(org)?];
    tx.execute(&INSERT, &params).map_err(|error| match error {
        StoreError::Conflict(_) => StoreError::Conflict(format!("org `{}`", org.slug)),
        other => other,
    })?;
    tx.batch(&[open_account(org.id)]).map(drop)
}

/// Replaces an org and moves its credit account to its plan, inside a transaction. Its
/// schedules follow a new time zone, and go on if it is no longer archived.
pub(crate) fn update(tx: &Tx, org: &Org) -> Result<()> {
    let params = [org.id.into(), org.slug.as_str().into(), Value::json(org)?];
    let before = get(tx, org.id)?;
    let account = change_plan(tx, org.id, org.period_credits())?;
    tx.execute(&UPDATE, &params)?;
    if before.archived && !org.archived {
        schedules::check_now(tx, org.id, EarlierDueTimes::Dropped)?;
    } else if before.time_zone != org.time_zone {
        schedules::check_now(tx, org.id, EarlierDueTimes::Kept)?;
    }
    tx.batch(&account).map(drop)
}

/// Returns an org, inside a transaction.
pub(crate) fn get(tx: &Tx, org: OrgId) -> Result<Org> {
    let row = tx.first(&GET, &[org.into()])?;
    row.ok_or(StoreError::NotFound("organization"))?.json(0, "organization")
}

/// Returns the org and locks its row until the transaction ends. Serializes
/// decisions that depend on several rows of an org.
pub(crate) fn lock_org(tx: &Tx, org: OrgId) -> Result<Org> {
    let row = tx.first(&LOCK, &[org.into()])?;
    row.ok_or(StoreError::NotFound("organization"))?.json(0, "organization")
}
