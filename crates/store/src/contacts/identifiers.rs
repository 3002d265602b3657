//! Recognizing contacts by their identifier on a channel, by telephone number or by
//! e-mail address.

use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, normalize_identifier};
use ostler_domain::id::{ContactId, OrgId};

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::contacts::contact::{self, StoredContact};
use crate::error::{Result, StoreError};
use crate::tenancy::audited_write::AuditedWrite;
use crate::tenancy::orgs::lock_org;

/// The result of recognizing or creating a contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContactResolution {
    Known(StoredContact),
    Created(StoredContact),
}

const FIND: Sql = sql!(
    "SELECT contact FROM contact_identifiers WHERE org = ?1 AND channel = ?2 AND identifier = ?3"
);
const LINK: Sql = sql!(
    "INSERT INTO contact_identifiers (org, channel, identifier, contact) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (org, channel, identifier) DO NOTHING"
);
const LIST: Sql = sql!(
    "SELECT channel, identifier FROM contact_identifiers
     WHERE org = ?1 AND contact = ?2 ORDER BY channel, identifier LIMIT ?3"
);

const MOVE: Sql =
    sql!("UPDATE contact_identifiers SET contact = ?3 WHERE org = ?1 AND contact = ?2");

impl OrgStore<'_> {
    /// Returns the contact with this identifier on a channel: by a linked identifier,
    /// on phone channels by telephone number, on all channels by e-mail address.
    pub fn recognize(
        &self,
        channel: &Channel,
        identifier: &str,
    ) -> StoreFuture<Option<StoredContact>> {
        let (org, identifier) = (self.org, ChannelIdentifier::new(channel, identifier));
        self.read_hot(move |tx| identifier.find(tx, org))
    }

    /// Returns the contact that [`recognize`](Self::recognize) finds, or creates
    /// `new`, and links the identifier to it. Concurrent calls create one contact.
    pub async fn recognize_or_create(
        &self,
        channel: &Channel,
        identifier: &str,
        new: Contact,
    ) -> Result<ContactResolution> {
        let (org, identifier) = (self.org, ChannelIdentifier::new(channel, identifier));
        // Nearly every sender is linked already and found without a write.
        let sender = identifier.clone();
        if let Some(known) = self.read(move |tx| sender.linked(tx, org)).await? {
            return Ok(ContactResolution::Known(known));
        }
        self.write(move |tx| find_or_create(tx, org, &identifier, &new)).await
    }

    /// Links an identifier on a channel to a contact. Fails with
    /// [`StoreError::Conflict`] if it belongs to another contact.
    pub fn link_identifier(
        &self,
        contact: ContactId,
        channel: &Channel,
        identifier: &str,
    ) -> StoreFuture<()> {
        let (org, identifier) = (self.org, ChannelIdentifier::new(channel, identifier));
        self.write(move |tx| link_to_contact(tx, org, contact, &identifier))
    }

    /// Returns the identifiers of a contact, ordered by channel.
    pub fn identifiers(
        &self,
        contact: ContactId,
        limit: u32,
    ) -> StoreFuture<Vec<(Channel, String)>> {
        let org = self.org;
        self.read(move |tx| {
            contact::get(tx, org, contact)?;
            identifiers_of(tx, org, contact, limit)
        })
    }
}

impl AuditedWrite<'_> {
    /// Links an identifier to a contact; see [`OrgStore::link_identifier`].
    pub fn link_identifier(
        self,
        contact: ContactId,
        channel: &Channel,
        identifier: &str,
    ) -> StoreFuture<()> {
        let identifier = ChannelIdentifier::new(channel, identifier);
        self.run(move |tx, org| link_to_contact(tx, org, contact, &identifier))
    }
}

/// Returns the normalized identifiers of a contact, inside a transaction.
pub(crate) fn identifiers_of(
    tx: &Tx,
    org: OrgId,
    contact: ContactId,
    limit: u32,
) -> Result<Vec<(Channel, String)>> {
    let rows = tx.query(&LIST, &[org.into(), contact.into(), limit.into()])?;
    let identifier = |row: &Row| Ok((Channel::from(row.text(0)?), row.text(1)?.to_owned()));
    rows.iter().map(identifier).collect()
}

/// Recognizes a contact, inside a transaction.
pub(crate) fn find_contact(
    tx: &Tx,
    org: OrgId,
    channel: Channel,
    identifier: String,
) -> Result<Option<StoredContact>> {
    ChannelIdentifier { channel, identifier }.find(tx, org)
}

/// An identifier on a channel.
#[derive(Clone)]
struct ChannelIdentifier {
    channel: Channel,
    identifier: String,
}

impl ChannelIdentifier {
    fn new(channel: &Channel, identifier: &str) -> Self {
        Self { channel: channel.clone(), identifier: identifier.to_owned() }
    }

    /// The key columns of the normalized identifier; `None` if it is empty.
    fn key(&self, org: OrgId) -> Option<[Value; 3]> {
        let identifier = normalize_identifier(&self.channel, &self.identifier)?;
        Some([org.into(), self.channel.name().into(), identifier.into()])
    }

    fn linked(&self, tx: &Tx, org: OrgId) -> Result<Option<StoredContact>> {
        let Some(key) = self.key(org) else { return Ok(None) };
        let Some(row) = tx.first(&FIND, &key)? else { return Ok(None) };
        contact::get(tx, org, row.id(0)?).map(Some)
    }

    fn find(&self, tx: &Tx, org: OrgId) -> Result<Option<StoredContact>> {
        if let Some(linked) = self.linked(tx, org)? {
            return Ok(Some(linked));
        }
        if self.channel.uses_phone_numbers()
            && let Some(found) = contact::by_phone(tx, org, &self.identifier)?
        {
            return Ok(Some(found));
        }
        contact::by_email(tx, org, &self.identifier)
    }

    /// Links the identifier to a contact, unless it is linked already.
    fn link(&self, tx: &Tx, org: OrgId, contact: ContactId) -> Result<()> {
        let key = self.key(org).ok_or(StoreError::NotFound("identifier"))?;
        let [org, channel, identifier] = key;
        tx.execute(&LINK, &[org, channel, identifier, contact.into()])?;
        Ok(())
    }
}

/// The statement that links an identifier to a contact.
pub(crate) fn link_statement(
    org: OrgId,
    contact: ContactId,
    channel: &Channel,
    identifier: &str,
) -> Result<Statement> {
    let key = ChannelIdentifier::new(channel, identifier).key(org);
    let [org, channel, identifier] = key.ok_or(StoreError::NotFound("identifier"))?;
    let params = vec![org, channel, identifier, contact.into()];
    Ok(Statement { sql: &LINK, params, on_no_rows: None })
}

/// Links an identifier to a contact, unless it is linked already or empty.
pub(crate) fn link(
    tx: &Tx,
    org: OrgId,
    contact: ContactId,
    channel: &Channel,
    identifier: &str,
) -> Result<()> {
    let identifier = ChannelIdentifier::new(channel, identifier);
    match identifier.key(org) {
        Some(_) => identifier.link(tx, org, contact),
        None => Ok(()),
    }
}

/// Moves all identifiers of a contact to another one and returns how many there were.
pub(crate) fn move_all(tx: &Tx, org: OrgId, from: ContactId, to: ContactId) -> Result<u64> {
    tx.execute(&MOVE, &[org.into(), from.into(), to.into()])
}

fn find_or_create(
    tx: &Tx,
    org: OrgId,
    identifier: &ChannelIdentifier,
    new: &Contact,
) -> Result<ContactResolution> {
    // Serialized, so that a person who writes on two channels at once with the
    // same number becomes one contact.
    lock_org(tx, org)?;
    let resolved = match identifier.find(tx, org)? {
        Some(known) => ContactResolution::Known(known),
        None => ContactResolution::Created(contact::create(tx, org, new)?),
    };
    let (ContactResolution::Known(stored) | ContactResolution::Created(stored)) = &resolved;
    identifier.link(tx, org, stored.contact.id)?;
    Ok(resolved)
}

fn link_to_contact(
    tx: &Tx,
    org: OrgId,
    contact: ContactId,
    identifier: &ChannelIdentifier,
) -> Result<()> {
    // Not while a contact with this identifier is being created.
    lock_org(tx, org)?;
    contact::get(tx, org, contact)?;
    identifier.link(tx, org, contact)?;
    match identifier.linked(tx, org)? {
        Some(linked) if linked.contact.id != contact => {
            let ChannelIdentifier { channel, identifier } = identifier;
            Err(StoreError::Conflict(format!("another contact that is {identifier} on {channel}")))
        }
        _ => Ok(()),
    }
}
