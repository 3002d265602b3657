//! Contacts: external people known to an org. How channels identify them is in
//! [`crate::contacts::identifiers`].

use ostler_domain::contact::{Contact, normalize_email, normalize_phone};
use ostler_domain::id::{ContactId, OrgId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

/// A stored contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredContact {
    pub contact: Contact,
    /// Starts at 1 and grows with each change.
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

const CREATE: Sql = sql!(
    "INSERT INTO contacts (org, id, phone_key, email_key, data, version, created_at, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, 1, now_ms(), now_ms())
     RETURNING data, version, created_at, updated_at"
);
/// Without a result, for a batch.
const INSERT: Sql = sql!(
    "INSERT INTO contacts (org, id, phone_key, email_key, data, version, created_at, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, 1, now_ms(), now_ms())"
);
const REPLACE: Sql = sql!(
    "UPDATE contacts SET phone_key = ?3, email_key = ?4, data = ?5, version = version + 1,
       updated_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND version = ?6"
);
const UPDATE: Sql = sql!(
    "UPDATE contacts SET phone_key = ?3, email_key = ?4, data = ?5, version = version + 1,
       updated_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND version = ?6
     RETURNING data, version, created_at, updated_at"
);
const DELETE: Sql = sql!("DELETE FROM contacts WHERE org = ?1 AND id = ?2 AND version = ?3");
const DELETE_IDENTIFIERS: Sql =
    sql!("DELETE FROM contact_identifiers WHERE org = ?1 AND contact = ?2");
const GET: Sql =
    sql!("SELECT data, version, created_at, updated_at FROM contacts WHERE org = ?1 AND id = ?2");
const LIST: Sql = sql!(
    "SELECT data, version, created_at, updated_at FROM contacts
     WHERE org = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
);
/// The oldest of several with the same number. Without the hint SQLite scans all
/// contacts of the org.
const BY_PHONE: Sql = Sql {
    sqlite: "SELECT data, version, created_at, updated_at FROM contacts INDEXED BY contacts_phone
       WHERE org = ?1 AND phone_key = ?2 ORDER BY id LIMIT 1",
    postgres: "SELECT data, version, created_at, updated_at FROM contacts
       WHERE org = $1 AND phone_key = $2 ORDER BY id LIMIT 1",
};
/// The oldest of several with the same address. Without the hint SQLite scans all
/// contacts of the org.
const BY_EMAIL: Sql = Sql {
    sqlite: "SELECT data, version, created_at, updated_at FROM contacts INDEXED BY contacts_email
       WHERE org = ?1 AND email_key = ?2 ORDER BY id LIMIT 1",
    postgres: "SELECT data, version, created_at, updated_at FROM contacts
       WHERE org = $1 AND email_key = $2 ORDER BY id LIMIT 1",
};

impl OrgStore<'_> {
    /// Creates a contact without identifiers. Fails with [`StoreError::Conflict`] if
    /// its id is taken.
    pub fn create_contact(&self, contact: Contact) -> StoreFuture<StoredContact> {
        let org = self.org;
        self.write(move |tx| create(tx, org, &contact))
    }

    /// Replaces a contact that is still at `version`. Fails with
    /// [`StoreError::Conflict`] if it has changed since.
    pub fn update_contact(&self, version: i64, contact: Contact) -> StoreFuture<StoredContact> {
        let org = self.org;
        self.write(move |tx| update(tx, org, version, &contact))
    }

    /// Returns a contact.
    pub fn contact(&self, id: ContactId) -> StoreFuture<StoredContact> {
        self.one("contact", &GET, [id.into()], read_contact)
    }

    /// Returns the contacts after `after`, oldest first.
    pub fn contacts(
        &self,
        after: Option<ContactId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredContact>> {
        let after = after.unwrap_or(ContactId::from_u128(0));
        self.rows(&LIST, [after.into(), limit.into()], read_contact)
    }

    /// Returns the contact with this telephone number, ignoring white space; the
    /// oldest if several share it.
    pub fn contact_by_phone(&self, number: &str) -> StoreFuture<Option<StoredContact>> {
        let (org, number) = (self.org, number.to_owned());
        self.read(move |tx| by_phone(tx, org, &number))
    }

    /// Returns the contact with this e-mail address, ignoring case; the oldest if
    /// several share it.
    pub fn contact_by_email(&self, address: &str) -> StoreFuture<Option<StoredContact>> {
        let (org, address) = (self.org, address.to_owned());
        self.read(move |tx| by_email(tx, org, &address))
    }
}

/// Creates a contact, inside a transaction.
pub(crate) fn create(tx: &Tx, org: OrgId, contact: &Contact) -> Result<StoredContact> {
    let id = contact.id;
    let row = tx.first(&CREATE, &columns(org, contact)?).map_err(|error| match error {
        StoreError::Conflict(_) => StoreError::Conflict(format!("contact {id}")),
        other => other,
    })?;
    read_contact(&row.ok_or(StoreError::NotFound("contact"))?)
}

/// The statement that creates a contact, for a batch.
pub(crate) fn create_statement(org: OrgId, contact: &Contact) -> Result<Statement> {
    let params = columns(org, contact)?.to_vec();
    Ok(Statement { sql: &INSERT, params, on_no_rows: None })
}

/// The statement that replaces a contact at `version`, for a batch.
pub(crate) fn update_statement(org: OrgId, version: i64, contact: &Contact) -> Result<Statement> {
    let params = columns(org, contact)?.into_iter().chain([version.into()]).collect();
    Ok(Statement { sql: &REPLACE, params, on_no_rows: None })
}

/// The statement that deletes a contact at `version` without its identifiers, for a batch.
pub(crate) fn delete_statement(org: OrgId, id: ContactId, version: i64) -> Statement {
    let params = vec![org.into(), id.into(), version.into()];
    Statement { sql: &DELETE, params, on_no_rows: None }
}

/// The parameters common to both writing statements.
fn columns(org: OrgId, contact: &Contact) -> Result<[Value; 5]> {
    let phone = contact.details.phone.as_deref().and_then(normalize_phone);
    let email = contact.details.email.as_deref().and_then(normalize_email);
    Ok([org.into(), contact.id.into(), phone.into(), email.into(), Value::json(contact)?])
}

/// Replaces a contact that is still at `version`, inside a transaction.
pub(crate) fn update(
    tx: &Tx,
    org: OrgId,
    version: i64,
    contact: &Contact,
) -> Result<StoredContact> {
    let mut params = columns(org, contact)?.to_vec();
    params.push(version.into());
    if let Some(row) = tx.first(&UPDATE, &params)? {
        return read_contact(&row);
    }
    get(tx, org, contact.id)?;
    Err(StoreError::Conflict(format!("a newer version of contact {}", contact.id)))
}

/// Deletes a contact that is still at `version`, with its identifiers.
pub(crate) fn delete(tx: &Tx, org: OrgId, id: ContactId, version: i64) -> Result<()> {
    if tx.execute(&DELETE, &[org.into(), id.into(), version.into()])? == 0 {
        get(tx, org, id)?;
        return Err(StoreError::Conflict(format!("a newer version of contact {id}")));
    }
    tx.execute(&DELETE_IDENTIFIERS, &[org.into(), id.into()])?;
    Ok(())
}

/// Returns a contact, inside a transaction.
pub(crate) fn get(tx: &Tx, org: OrgId, id: ContactId) -> Result<StoredContact> {
    let row = tx.first(&GET, &[org.into(), id.into()])?;
    read_contact(&row.ok_or(StoreError::NotFound("contact"))?)
}

fn find_by(
    tx: &Tx,
    org: OrgId,
    sql: &'static Sql,
    key: Option<String>,
) -> Result<Option<StoredContact>> {
    let Some(key) = key else { return Ok(None) };
    tx.first(sql, &[org.into(), key.into()])?.as_ref().map(read_contact).transpose()
}

/// Returns the contact with this telephone number, inside a transaction.
pub(crate) fn by_phone(tx: &Tx, org: OrgId, number: &str) -> Result<Option<StoredContact>> {
    find_by(tx, org, &BY_PHONE, normalize_phone(number))
}

/// Returns the contact with this e-mail address, inside a transaction.
pub(crate) fn by_email(tx: &Tx, org: OrgId, address: &str) -> Result<Option<StoredContact>> {
    find_by(tx, org, &BY_EMAIL, normalize_email(address))
}

fn read_contact(row: &Row) -> Result<StoredContact> {
    Ok(StoredContact {
        contact: row.json(0, "contact")?,
        version: row.int(1)?,
        created_at: row.time(2)?,
        updated_at: row.time(3)?,
    })
}
