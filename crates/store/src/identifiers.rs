//! Recognizing a contact: by what a channel calls them, by telephone number, by
//! e-mail address.

use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, normal_identifier};
use ostler_domain::id::{ContactId, OrgId};

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::contacts::{self, StoredContact};
use crate::error::{Result, StoreError};
use crate::orgs::hold;

/// How a contact was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// They were known.
    Known(StoredContact),
    /// They are new.
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

impl OrgStore<'_> {
    /// The contact whom a channel calls this: by an identifier that was linked
    /// before, on phone channels by telephone number, on all by e-mail address.
    pub async fn recognize(
        &self,
        channel: &Channel,
        identifier: &str,
    ) -> Result<Option<StoredContact>> {
        let name = Name { channel: channel.clone(), identifier: identifier.to_owned() };
        self.store.read(Recognize(self.org, name)).await
    }

    /// The contact whom a channel calls this, or `new`, who is called this from
    /// now on. However many ask at the same time, one contact is created.
    pub async fn recognize_or_create(
        &self,
        channel: &Channel,
        identifier: &str,
        new: Contact,
    ) -> Result<Resolved> {
        let name = Name { channel: channel.clone(), identifier: identifier.to_owned() };
        // Nearly everybody who writes is linked, and found without a write.
        if let Some(known) = self.store.read(Linked(self.org, name.clone())).await? {
            return Ok(Resolved::Known(known));
        }
        self.store.write(RecognizeOrCreate(self.org, name, new)).await
    }

    /// Says that a channel calls a contact this. What belongs to one contact is
    /// not given to another.
    pub async fn link_identifier(
        &self,
        contact: ContactId,
        channel: &Channel,
        identifier: &str,
    ) -> Result<()> {
        let name = Name { channel: channel.clone(), identifier: identifier.to_owned() };
        self.store.write(Link(self.org, contact, name)).await
    }

    /// What channels call a contact, in order.
    pub async fn identifiers(
        &self,
        contact: ContactId,
        most: u32,
    ) -> Result<Vec<(Channel, String)>> {
        self.store.read(List(self.org, contact, most)).await
    }
}

/// What channels call a contact, as it is compared.
pub(crate) async fn of<T: Tx>(
    tx: &T,
    org: OrgId,
    contact: ContactId,
    most: u32,
) -> Result<Vec<(Channel, String)>> {
    let rows = tx.query(&LIST, &[org.into(), contact.into(), most.into()]).await?;
    let name = |row: &Row| Ok((Channel::from(row.text(0)?), row.text(1)?.to_owned()));
    rows.iter().map(name).collect()
}

/// The contact whom a channel calls this.
pub(crate) async fn find<T: Tx>(
    tx: &T,
    org: OrgId,
    channel: Channel,
    identifier: String,
) -> Result<Option<StoredContact>> {
    Name { channel, identifier }.find(tx, org).await
}

/// What a channel calls somebody.
#[derive(Clone)]
struct Name {
    channel: Channel,
    identifier: String,
}

impl Name {
    /// The columns of the name as it is compared, if there is anything to it.
    fn place(&self, org: OrgId) -> Option<[Value; 3]> {
        let identifier = normal_identifier(&self.channel, &self.identifier)?;
        Some([org.into(), self.channel.name().into(), identifier.into()])
    }

    async fn linked<T: Tx>(&self, tx: &T, org: OrgId) -> Result<Option<StoredContact>> {
        let Some(place) = self.place(org) else { return Ok(None) };
        let Some(row) = tx.first(&FIND, &place).await? else { return Ok(None) };
        contacts::get(tx, org, row.id(0)?).await.map(Some)
    }

    async fn find<T: Tx>(&self, tx: &T, org: OrgId) -> Result<Option<StoredContact>> {
        if let Some(linked) = self.linked(tx, org).await? {
            return Ok(Some(linked));
        }
        if self.channel.uses_phone_numbers()
            && let Some(found) = contacts::by_phone(tx, org, &self.identifier).await?
        {
            return Ok(Some(found));
        }
        contacts::by_email(tx, org, &self.identifier).await
    }

    /// Links the name to a contact, unless it is linked already.
    async fn link<T: Tx>(&self, tx: &T, org: OrgId, contact: ContactId) -> Result<()> {
        let place = self.place(org).ok_or(StoreError::NotFound("identifier"))?;
        let [org, channel, identifier] = place;
        tx.execute(&LINK, &[org, channel, identifier, contact.into()]).await?;
        Ok(())
    }
}

struct Recognize(OrgId, Name);

impl Operation for Recognize {
    type Output = Option<StoredContact>;
    const EACH_TURN: bool = true;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<StoredContact>> {
        self.1.find(tx, self.0).await
    }
}

struct Linked(OrgId, Name);

impl Operation for Linked {
    type Output = Option<StoredContact>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<StoredContact>> {
        self.1.linked(tx, self.0).await
    }
}

struct RecognizeOrCreate(OrgId, Name, Contact);

impl Operation for RecognizeOrCreate {
    type Output = Resolved;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Resolved> {
        let Self(org, name, new) = self;
        // One by one: also somebody who writes on two channels at once, with
        // the same number, is one contact.
        hold(tx, *org).await?;
        let resolved = match name.find(tx, *org).await? {
            Some(known) => Resolved::Known(known),
            None => Resolved::Created(contacts::create(tx, *org, new).await?),
        };
        let (Resolved::Known(stored) | Resolved::Created(stored)) = &resolved;
        name.link(tx, *org, stored.contact.id).await?;
        Ok(resolved)
    }
}

struct Link(OrgId, ContactId, Name);

impl Operation for Link {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, contact, name) = self;
        // Not while somebody of this name is being created.
        hold(tx, *org).await?;
        contacts::get(tx, *org, *contact).await?;
        name.link(tx, *org, *contact).await?;
        match name.linked(tx, *org).await? {
            Some(linked) if linked.contact.id != *contact => {
                let Name { channel, identifier } = name;
                Err(StoreError::Conflict(format!(
                    "another contact that is {identifier} on {channel}"
                )))
            }
            _ => Ok(()),
        }
    }
}

struct List(OrgId, ContactId, u32);

impl Operation for List {
    type Output = Vec<(Channel, String)>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<(Channel, String)>> {
        contacts::get(tx, self.0, self.1).await?;
        of(tx, self.0, self.1, self.2).await
    }
}
