//! Contacts: external people known to an org. How channels identify them is in
//! [`crate::contacts::identifiers`].

use ostler_domain::contact::{Contact, normalize_email, normalize_phone};
use ostler_domain::id::{ContactId, OrgId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
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
    pub async fn create_contact(&self, contact: Contact) -> Result<StoredContact> {
        self.store.write(Create(self.org, contact)).await
    }

    /// Replaces a contact that is still at `version`. Fails with
    /// [`StoreError::Conflict`] if it has changed since.
    pub async fn update_contact(&self, version: i64, contact: Contact) -> Result<StoredContact> {
        self.store.write(Update(self.org, version, contact)).await
    }

    /// Returns a contact.
    pub async fn contact(&self, id: ContactId) -> Result<StoredContact> {
        self.store.read(Get(self.org, id)).await
    }

    /// Returns the contacts after `after`, oldest first.
    pub async fn contacts(
        &self,
        after: Option<ContactId>,
        limit: u32,
    ) -> Result<Vec<StoredContact>> {
        let after = after.unwrap_or(ContactId::from_u128(0));
        self.store.read(List(self.org, after, limit)).await
    }

    /// Returns the contact with this telephone number, ignoring white space; the
    /// oldest if several share it.
    pub async fn contact_by_phone(&self, number: &str) -> Result<Option<StoredContact>> {
        self.store.read(FindBy(self.org, &BY_PHONE, normalize_phone(number))).await
    }

    /// Returns the contact with this e-mail address, ignoring case; the oldest if
    /// several share it.
    pub async fn contact_by_email(&self, address: &str) -> Result<Option<StoredContact>> {
        self.store.read(FindBy(self.org, &BY_EMAIL, normalize_email(address))).await
    }
}

struct Create(OrgId, Contact);

impl Operation for Create {
    type Output = StoredContact;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<StoredContact> {
        create(tx, self.0, &self.1)
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

/// The parameters common to both writing statements.
fn columns(org: OrgId, contact: &Contact) -> Result<[Value; 5]> {
    let phone = contact.details.phone.as_deref().and_then(normalize_phone);
    let email = contact.details.email.as_deref().and_then(normalize_email);
    Ok([org.into(), contact.id.into(), phone.into(), email.into(), Value::json(contact)?])
}

struct Update(OrgId, i64, Contact);

impl Operation for Update {
    type Output = StoredContact;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<StoredContact> {
        update(tx, self.0, self.1, &self.2)
    }
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

struct Get(OrgId, ContactId);

impl Operation for Get {
    type Output = StoredContact;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<StoredContact> {
        get(tx, self.0, self.1)
    }
}

/// Returns a contact, inside a transaction.
pub(crate) fn get(tx: &Tx, org: OrgId, id: ContactId) -> Result<StoredContact> {
    let row = tx.first(&GET, &[org.into(), id.into()])?;
    read_contact(&row.ok_or(StoreError::NotFound("contact"))?)
}

struct List(OrgId, ContactId, u32);

impl Operation for List {
    type Output = Vec<StoredContact>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<StoredContact>> {
        let params = [self.0.into(), self.1.into(), self.2.into()];
        tx.query(&LIST, &params)?.iter().map(read_contact).collect()
    }
}

struct FindBy(OrgId, &'static Sql, Option<String>);

impl Operation for FindBy {
    type Output = Option<StoredContact>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Option<StoredContact>> {
        find_by(tx, self.0, self.1, self.2.as_deref())
    }
}

fn find_by(
    tx: &Tx,
    org: OrgId,
    sql: &'static Sql,
    key: Option<&str>,
) -> Result<Option<StoredContact>> {
    let Some(key) = key else { return Ok(None) };
    tx.first(sql, &[org.into(), key.into()])?.as_ref().map(read_contact).transpose()
}

/// Returns the contact with this telephone number, inside a transaction.
pub(crate) fn by_phone(tx: &Tx, org: OrgId, number: &str) -> Result<Option<StoredContact>> {
    find_by(tx, org, &BY_PHONE, normalize_phone(number).as_deref())
}

/// Returns the contact with this e-mail address, inside a transaction.
pub(crate) fn by_email(tx: &Tx, org: OrgId, address: &str) -> Result<Option<StoredContact>> {
    find_by(tx, org, &BY_EMAIL, normalize_email(address).as_deref())
}

fn read_contact(row: &Row) -> Result<StoredContact> {
    Ok(StoredContact {
        contact: row.json(0, "contact")?,
        version: row.int(1)?,
        created_at: row.time(2)?,
        updated_at: row.time(3)?,
    })
}
