//! An org's records and contacts as they are once everything that a turn wants
//! stored so far is stored. Reading goes through it, and so does working out
//! what is to be written; it writes nothing itself.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use ostler_domain::contact::{Contact, normal_email, normal_phone};
use ostler_domain::id::{ContactId, RecordId};
use ostler_store::{Change, OrgStore, StoreError};
use serde_json::Value;

use crate::effects::EffectError;
use crate::records::Entity;

/// The state of an org after some changes that are not made yet.
pub(crate) struct View<'s> {
    org: OrgStore<'s>,
    changes: Vec<Change>,
    /// Records that the changes touch, with the version they have then.
    records: BTreeMap<(String, RecordId), (i64, String)>,
    /// Contacts that the changes touch; none is one that is deleted.
    contacts: BTreeMap<ContactId, Option<(i64, Contact)>>,
}

/// What is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Table {
    /// Records of a kind.
    Records(String),
    /// Contacts.
    Contacts,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The bits of its id, by which lists are ordered.
    pub(crate) bits: u128,
    /// Its id as it is written.
    pub(crate) id: String,
    /// All of it.
    pub(crate) value: Value,
}

type Result<T> = std::result::Result<T, EffectError>;

impl<'s> View<'s> {
    pub(crate) const fn new(org: OrgStore<'s>) -> Self {
        Self { org, changes: Vec::new(), records: BTreeMap::new(), contacts: BTreeMap::new() }
    }

    pub(crate) const fn org(&self) -> OrgStore<'s> {
        self.org
    }

    /// What is to be written, in order.
    pub(crate) fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    /// A record and its version, if there is one.
    pub(crate) async fn record<E: Entity>(&self, id: RecordId) -> Result<Option<(i64, E)>> {
        let (version, data) = match self.records.get(&(E::KIND.to_owned(), id)) {
            Some(held) => held.clone(),
            None => match self.org.record(E::KIND, id).await {
                Ok(record) => (record.version, record.data),
                Err(StoreError::NotFound(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            },
        };
        let read = serde_json::from_str(&data).map_err(|error| unreadable(E::KIND, &error))?;
        Ok(Some((version, read)))
    }

    /// Writes a record: a new one, or what becomes of one that was read.
    pub(crate) fn put<E: Entity>(
        &mut self,
        id: RecordId,
        read: Option<i64>,
        entity: &E,
    ) -> Result<()> {
        let data = entity.to_data().map_err(|error| unreadable(E::KIND, &error))?;
        let kind = E::KIND.to_owned();
        self.records.insert((kind.clone(), id), (read.unwrap_or(0) + 1, data.clone()));
        self.changes.push(match read {
            None => Change::CreateRecord { kind, id, data },
            Some(version) => Change::UpdateRecord { kind, id, version, data },
        });
        Ok(())
    }

    /// A contact and their version, if there is one.
    pub(crate) async fn contact(&self, id: ContactId) -> Result<Option<(i64, Contact)>> {
        if let Some(held) = self.contacts.get(&id) {
            return Ok(held.clone());
        }
        match self.org.contact(id).await {
            Ok(stored) => Ok(Some((stored.version, stored.contact))),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn create_contact(&mut self, contact: Contact) {
        self.contacts.insert(contact.id, Some((1, contact.clone())));
        self.changes.push(Change::CreateContact(contact));
    }

    pub(crate) fn update_contact(&mut self, version: i64, contact: Contact) {
        self.contacts.insert(contact.id, Some((version + 1, contact.clone())));
        self.changes.push(Change::UpdateContact { version, contact });
    }

    pub(crate) fn delete_contact(&mut self, version: i64, id: ContactId) {
        self.contacts.insert(id, None);
        self.changes.push(Change::DeleteContact { id, version });
    }

    /// The contact with this telephone number, or else with this address.
    pub(crate) async fn contact_like(
        &self,
        phone: Option<&str>,
        email: Option<&str>,
    ) -> Result<Option<Contact>> {
        let (number, address) = (phone.and_then(normal_phone), email.and_then(normal_email));
        let same = |contact: &Contact| {
            let details = &contact.details;
            let known = (
                details.phone.as_deref().and_then(normal_phone),
                details.email.as_deref().and_then(normal_email),
            );
            number.is_some() && known.0 == number || address.is_some() && known.1 == address
        };
        let held = self.contacts.values().flatten().map(|(_, contact)| contact);
        if let Some(found) = held.into_iter().find(|contact| same(contact)) {
            return Ok(Some(found.clone()));
        }
        let mut stored = None;
        if let Some(number) = &number {
            stored = self.org.contact_by_phone(number).await?;
        }
        if let (None, Some(address)) = (&stored, &address) {
            stored = self.org.contact_by_email(address).await?;
        }
        // One that the changes touch is another by now.
        Ok(stored.map(|found| found.contact).filter(|found| !self.contacts.contains_key(&found.id)))
    }

    /// What is listed after an id, in order, and from where it goes on if there is
    /// more.
    pub(crate) async fn rows(
        &self,
        table: &Table,
        after: u128,
        most: u32,
    ) -> Result<(Vec<Row>, Option<u128>)> {
        let mut rows: BTreeMap<u128, Row> = BTreeMap::new();
        let stored = match table {
            Table::Records(kind) => {
                let after = RecordId::from_u128(after);
                let page = self.org.records(kind, Some(after), most).await?;
                page.into_iter().map(|record| record_row(record.id, &record.data)).collect()
            }
            Table::Contacts => {
                let after = ContactId::from_u128(after);
                let page = self.org.contacts(Some(after), most).await?;
                page.iter().map(|stored| contact_row(&stored.contact)).collect::<Vec<_>>()
            }
        };
        // What was created since comes behind, unless the page ends before it.
        let full = stored.len() >= most as usize;
        let next = stored.last().filter(|_| full).map(|row| row.bits);
        let last = next.unwrap_or(u128::MAX);
        rows.extend(stored.into_iter().map(|row| (row.bits, row)));
        for (bits, row) in self.touched(table) {
            match (row, rows.entry(bits)) {
                (Some(row), Entry::Occupied(mut known)) => drop(known.insert(row)),
                (Some(row), Entry::Vacant(free)) if bits > after && bits <= last => {
                    free.insert(row);
                }
                (None, Entry::Occupied(known)) => drop(known.remove()),
                (_, Entry::Vacant(_)) => {}
            }
        }
        Ok((rows.into_values().collect(), next))
    }

    /// What the changes made of entries of a list; none is one that is deleted.
    fn touched(&self, table: &Table) -> Vec<(u128, Option<Row>)> {
        match table {
            Table::Records(kind) => {
                let ours = self.records.iter().filter(|((of, _), _)| of == kind);
                let row = |id: RecordId, data: &str| (id.as_u128(), Some(record_row(id, data)));
                ours.map(|((_, id), (_, data))| row(*id, data)).collect()
            }
            Table::Contacts => {
                let row = |held: &Option<(i64, Contact)>| {
                    held.as_ref().map(|(_, contact)| contact_row(contact))
                };
                self.contacts.iter().map(|(id, held)| (id.as_u128(), row(held))).collect()
            }
        }
    }
}

fn record_row(id: RecordId, data: &str) -> Row {
    let value = serde_json::from_str(data).unwrap_or_default();
    Row { bits: id.as_u128(), id: id.to_string(), value }
}

fn contact_row(contact: &Contact) -> Row {
    let value = serde_json::to_value(contact).unwrap_or_default();
    Row { bits: contact.id.as_u128(), id: contact.id.to_string(), value }
}

fn unreadable(what: &'static str, error: &serde_json::Error) -> EffectError {
    EffectError::Store(StoreError::Unreadable { what, why: error.to_string() })
}
