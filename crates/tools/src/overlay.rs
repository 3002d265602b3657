//! An org's records and contacts with the uncommitted changes of a turn applied.
//! Tools read through it, and effects are turned into changes against it. It never
//! writes to the store.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use ostler_domain::contact::{Contact, normalize_email, normalize_phone};
use ostler_domain::id::{ContactId, RecordId};
use ostler_store::{OrgStore, RecordChange, StoreError};
use serde_json::Value;

use crate::effects::EffectError;
use crate::records::Entity;

/// The state of an org after a list of changes that are not stored yet.
pub(crate) struct StoreOverlay<'s> {
    org: OrgStore<'s>,
    changes: Vec<RecordChange>,
    /// Changed records by kind and id, with their new version and data.
    records: BTreeMap<(String, RecordId), (i64, String)>,
    /// Changed contacts with their new version; `None` means deleted.
    contacts: BTreeMap<ContactId, Option<(i64, Contact)>>,
}

/// The source of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Table {
    /// Records of the named kind.
    Records(String),
    Contacts,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The bits of the id. Lists are ordered by it.
    pub(crate) sort_key: u128,
    pub(crate) id: String,
    pub(crate) value: Value,
}

type Result<T> = std::result::Result<T, EffectError>;

impl<'s> StoreOverlay<'s> {
    pub(crate) const fn new(org: OrgStore<'s>) -> Self {
        Self { org, changes: Vec::new(), records: BTreeMap::new(), contacts: BTreeMap::new() }
    }

    pub(crate) const fn org(&self) -> OrgStore<'s> {
        self.org
    }

    /// Returns the changes to write, in order.
    pub(crate) fn into_changes(self) -> Vec<RecordChange> {
        self.changes
    }

    /// Returns a record and its version, or `None` if there is none.
    pub(crate) async fn record<E: Entity>(&self, id: RecordId) -> Result<Option<(i64, E)>> {
        let (version, data) = match self.records.get(&(E::KIND.to_owned(), id)) {
            Some(changed) => changed.clone(),
            None => match self.org.record(E::KIND, id).await {
                Ok(record) => (record.version, record.data),
                Err(StoreError::NotFound(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            },
        };
        let record = serde_json::from_str(&data).map_err(|error| corrupt(E::KIND, &error))?;
        Ok(Some((version, record)))
    }

    /// Adds the creation of a record, or the update of the version that was read.
    pub(crate) fn put<E: Entity>(
        &mut self,
        id: RecordId,
        read_version: Option<i64>,
        entity: &E,
    ) -> Result<()> {
        let data = entity.to_json().map_err(|error| corrupt(E::KIND, &error))?;
        let kind = E::KIND.to_owned();
        self.records.insert((kind.clone(), id), (read_version.unwrap_or(0) + 1, data.clone()));
        self.changes.push(match read_version {
            None => RecordChange::CreateRecord { kind, id, data },
            Some(version) => RecordChange::UpdateRecord { kind, id, version, data },
        });
        Ok(())
    }

    /// Returns a contact and its version, or `None` if there is none.
    pub(crate) async fn contact(&self, id: ContactId) -> Result<Option<(i64, Contact)>> {
        if let Some(changed) = self.contacts.get(&id) {
            return Ok(changed.clone());
        }
        match self.org.contact(id).await {
            Ok(stored) => Ok(Some((stored.version, stored.contact))),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether a contact is created by the uncommitted changes.
    pub(crate) fn is_new_contact(&self, id: ContactId) -> bool {
        self.changes.iter().any(
            |change| matches!(change, RecordChange::CreateContact(contact) if contact.id == id),
        )
    }

    pub(crate) fn create_contact(&mut self, contact: Contact) {
        self.contacts.insert(contact.id, Some((1, contact.clone())));
        self.changes.push(RecordChange::CreateContact(contact));
    }

    pub(crate) fn update_contact(&mut self, version: i64, contact: Contact) {
        self.contacts.insert(contact.id, Some((version + 1, contact.clone())));
        self.changes.push(RecordChange::UpdateContact { version, contact });
    }

    pub(crate) fn delete_contact(&mut self, version: i64, id: ContactId) {
        self.contacts.insert(id, None);
        self.changes.push(RecordChange::DeleteContact { id, version });
    }

    /// Returns the contact with this phone number or, if there is none, with this e-mail
    /// address.
    pub(crate) async fn find_contact(
        &self,
        phone: Option<&str>,
        email: Option<&str>,
    ) -> Result<Option<Contact>> {
        let (phone, email) = (phone.and_then(normalize_phone), email.and_then(normalize_email));
        let is_match = |contact: &Contact| {
            let details = &contact.details;
            let normalized = (
                details.phone.as_deref().and_then(normalize_phone),
                details.email.as_deref().and_then(normalize_email),
            );
            phone.is_some() && normalized.0 == phone || email.is_some() && normalized.1 == email
        };
        let changed = self.contacts.values().flatten().map(|(_, contact)| contact);
        if let Some(found) = changed.into_iter().find(|contact| is_match(contact)) {
            return Ok(Some(found.clone()));
        }
        let mut stored = None;
        if let Some(phone) = &phone {
            stored = self.org.contact_by_phone(phone).await?;
        }
        if let (None, Some(email)) = (&stored, &email) {
            stored = self.org.contact_by_email(email).await?;
        }
        // The stored values of a changed contact are outdated.
        Ok(stored.map(|found| found.contact).filter(|found| !self.contacts.contains_key(&found.id)))
    }

    /// Returns up to about `limit` rows after a sort key, in order, and the key to continue
    /// after if there may be more.
    pub(crate) async fn rows(
        &self,
        table: &Table,
        after: u128,
        limit: u32,
    ) -> Result<(Vec<Row>, Option<u128>)> {
        let mut rows: BTreeMap<u128, Row> = BTreeMap::new();
        let stored = match table {
            Table::Records(kind) => {
                let after = RecordId::from_u128(after);
                let page = self.org.records(kind, Some(after), limit).await?;
                page.into_iter().map(|record| record_row(record.id, &record.data)).collect()
            }
            Table::Contacts => {
                let after = ContactId::from_u128(after);
                let page = self.org.contacts(Some(after), limit).await?;
                page.iter().map(|stored| contact_row(&stored.contact)).collect::<Vec<_>>()
            }
        };
        // New rows sort behind the stored ones. They are left out if a full page ends
        // before them.
        let full = stored.len() >= limit as usize;
        let next = stored.last().filter(|_| full).map(|row| row.sort_key);
        let last = next.unwrap_or(u128::MAX);
        rows.extend(stored.into_iter().map(|row| (row.sort_key, row)));
        for (key, row) in self.changed_rows(table) {
            match (row, rows.entry(key)) {
                (Some(row), Entry::Occupied(mut stored)) => drop(stored.insert(row)),
                (Some(row), Entry::Vacant(vacant)) if key > after && key <= last => {
                    vacant.insert(row);
                }
                (None, Entry::Occupied(stored)) => drop(stored.remove()),
                (_, Entry::Vacant(_)) => {}
            }
        }
        Ok((rows.into_values().collect(), next))
    }

    /// Returns the changed rows of a table by sort key; `None` means deleted.
    fn changed_rows(&self, table: &Table) -> Vec<(u128, Option<Row>)> {
        match table {
            Table::Records(kind) => {
                let changed = self.records.iter().filter(|((of_kind, _), _)| of_kind == kind);
                let row = |id: RecordId, data: &str| (id.as_u128(), Some(record_row(id, data)));
                changed.map(|((_, id), (_, data))| row(*id, data)).collect()
            }
            Table::Contacts => {
                let row = |changed: &Option<(i64, Contact)>| {
                    changed.as_ref().map(|(_, contact)| contact_row(contact))
                };
                self.contacts.iter().map(|(id, changed)| (id.as_u128(), row(changed))).collect()
            }
        }
    }
}

fn record_row(id: RecordId, data: &str) -> Row {
    let value = serde_json::from_str(data).unwrap_or_default();
    Row { sort_key: id.as_u128(), id: id.to_string(), value }
}

fn contact_row(contact: &Contact) -> Row {
    let value = serde_json::to_value(contact).unwrap_or_default();
    Row { sort_key: contact.id.as_u128(), id: contact.id.to_string(), value }
}

fn corrupt(what: &'static str, error: &serde_json::Error) -> EffectError {
    EffectError::Store(StoreError::CorruptValue { what, why: error.to_string() })
}
