//! Contacts, and visitors who are none: finding, merging, exporting and deleting them.

use std::collections::BTreeSet;

use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails, merge};
use ostler_domain::hierarchy::issue::Issue;
use ostler_domain::id::{AuditId, BlobId, ContactId, ConversationId};
use ostler_domain::money::Credits;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::session::key::ConversationEntry;
use ostler_store::{
    ChannelVisitor, ContactExport, MergeCounts, OrgStore, PersonalDataCounts, SessionFilter,
    StoreError, StoredBlob, StoredContact,
};
use serde_json::{Value, json};

use super::{OperationError, OrgOperations, Result};
use crate::channel_binding::peer_address;
use crate::hierarchy::plan::ISSUE;
use crate::ids::fresh;
use crate::records::session::Session;
use crate::records::{decode, encode};

/// Contacts read at once.
const PAGE: u32 = 500;
/// The most identifiers of a contact that are listed.
const MAX_IDENTIFIERS: u32 = 1000;
/// The most conversations with a contact that are listed.
const MAX_INTERACTIONS: u32 = 50;
/// The most sessions of a contact whose issues are erased, or whose cost is added up.
const MAX_SESSIONS: u32 = 10_000;
/// The most people with the same name that an error lists.
const MAX_CANDIDATES: usize = 5;

/// A person who has written to an org or is one of its contacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Person {
    Contact(StoredContact),
    /// Known by an identifier only.
    Visitor(ChannelVisitor),
}

/// A contact with its identifiers on channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactSummary {
    pub contact: StoredContact,
    pub identifiers: Vec<(Channel, String)>,
}

impl<'o> OrgOperations<'o> {
    /// Returns contacts, oldest first, after the one with an id. With `search`, only those
    /// whose name, e-mail address, number or tag contains it.
    pub async fn contacts(
        &self,
        search: Option<&str>,
        after: Option<ContactId>,
        limit: usize,
    ) -> Result<Vec<StoredContact>> {
        self.authorize(OrgPermission::View).await?;
        let wanted = search.map(|text| text.trim().to_lowercase()).unwrap_or_default();
        self.filter_contacts(after, limit, |contact| matches_search(contact, &wanted)).await
    }

    /// Returns visitors who are no contacts, those of the newest conversations first.
    pub async fn visitors(&self, search: Option<&str>, limit: u32) -> Result<Vec<ChannelVisitor>> {
        let store = self.authorize(OrgPermission::View).await?;
        let wanted = search.map(|text| text.trim().to_lowercase()).unwrap_or_default();
        let mut found = store.visitors(if wanted.is_empty() { limit } else { PAGE }).await?;
        found.retain(|one| one.identifier.to_lowercase().contains(&wanted));
        found.truncate(limit as usize);
        Ok(found)
    }

    /// Returns a contact with its identifiers.
    pub async fn contact_summary(&self, contact: StoredContact) -> Result<ContactSummary> {
        let store = self.authorize(OrgPermission::View).await?;
        let identifiers = store.identifiers(contact.contact.id, MAX_IDENTIFIERS).await?;
        Ok(ContactSummary { contact, identifiers })
    }

    /// Returns the newest conversations with a person, newest first. Tests are left out.
    pub async fn interactions(&self, person: &Person) -> Result<Vec<Session>> {
        self.sessions_of(person, MAX_INTERACTIONS).await
    }

    /// Returns what the sessions of a person have cost, without tests.
    pub async fn credits_of(&self, person: &Person) -> Result<Credits> {
        let sessions = self.sessions_of(person, MAX_SESSIONS).await?;
        Ok(sessions.iter().map(|one| one.budget.spent).sum())
    }

    async fn sessions_of(&self, person: &Person, limit: u32) -> Result<Vec<Session>> {
        let store = self.authorize(OrgPermission::View).await?;
        let stored = match person {
            Person::Contact(contact) => store.contact_sessions(contact.clone(), limit).await?,
            Person::Visitor(visitor) => store.visitor_sessions(visitor.clone(), limit).await?,
        };
        let sessions = stored.iter().map(|one| decode("session", &one.data));
        let mut sessions: Vec<Session> = sessions.collect::<std::result::Result<_, _>>()?;
        sessions.retain(|session| session.entry != ConversationEntry::Testing);
        Ok(sessions)
    }

    /// Finds a person by id, identifier on a channel (`+39061234`, `rosa@example.com`, the id
    /// of a visitor, or `channel:identifier`) or name. Fails if several people match.
    pub async fn find_person(&self, name: &str) -> Result<Person> {
        let store = self.authorize(OrgPermission::View).await?;
        let name = name.trim();
        if let Ok(id) = name.parse::<ContactId>() {
            return Ok(Person::Contact(store.contact(id).await?));
        }
        if let Some(found) = store.contact_by_identifier(name).await? {
            return Ok(Person::Contact(found));
        }
        let wanted = name.to_lowercase();
        let id_end = name.split_once('…').map(|(_, end)| end).filter(|end| end.len() >= 4);
        let is_named = |contact: &Contact| {
            contact.name.trim().to_lowercase() == wanted
                || id_end.is_some_and(|end| contact.id.to_string().ends_with(end))
        };
        let named = self.filter_contacts(None, MAX_CANDIDATES, is_named).await?;
        let mut people: Vec<Person> = named.into_iter().map(Person::Contact).collect();
        if people.is_empty() {
            people = self.find_visitors(name).await?.into_iter().map(Person::Visitor).collect();
        }
        only_person(name, people)
    }

    /// Finds a person like [`Self::find_person`], or else by the beginning of the name, that of
    /// a visitor as the channel says it. For commands that only read: what changes or deletes
    /// something needs the whole name.
    pub async fn find_person_by_beginning(&self, name: &str) -> Result<Person> {
        let wanted = name.trim().to_lowercase();
        match self.find_person(name).await {
            Err(OperationError::NoContact(_)) if !wanted.is_empty() => {}
            found => return found,
        }
        let begins = |name: &str| name.trim().to_lowercase().starts_with(&wanted);
        let contacts = self.filter_contacts(None, MAX_CANDIDATES, |one| begins(&one.name)).await?;
        let mut people: Vec<Person> = contacts.into_iter().map(Person::Contact).collect();
        people.extend(self.visitors_named(begins).await?.into_iter().map(Person::Visitor));
        only_person(name.trim(), people)
    }

    /// Returns the visitors of the newest sessions whose name or identifier is wanted.
    async fn visitors_named(
        &self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<ChannelVisitor>> {
        let store = self.inner().store.org(self.org);
        let mut found: Vec<ChannelVisitor> = Vec::new();
        for stored in store.sessions(SessionFilter::All, None, PAGE).await? {
            let session: Session = decode("session", &stored.data)?;
            let address = peer_address(&session.peer);
            let is_named = session.name.as_deref().is_some_and(&is_wanted) || is_wanted(address);
            if session.contact.is_some() || !is_named {
                continue;
            }
            for visitor in store.find_visitors(address).await? {
                let is_same = |one: &ChannelVisitor| one.conversation == visitor.conversation;
                if visitor.channel == session.channel && !found.iter().any(is_same) {
                    found.push(visitor);
                }
            }
            if found.len() >= MAX_CANDIDATES {
                break;
            }
        }
        Ok(found)
    }

    async fn find_visitors(&self, name: &str) -> Result<Vec<ChannelVisitor>> {
        let store = self.inner().store.org(self.org);
        let found = store.find_visitors(name).await?;
        if !found.is_empty() {
            return Ok(found);
        }
        let Some((channel, identifier)) = name.split_once(':') else { return Ok(found) };
        let mut found = store.find_visitors(identifier).await?;
        found.retain(|one| one.channel == Channel::from(channel));
        Ok(found)
    }

    /// Returns how much the org stores about a person.
    pub async fn stored_data(&self, person: &Person) -> Result<PersonalDataCounts> {
        Ok(self.export_person(person).await?.count().await?)
    }

    /// Deletes everything that the org stores about the person whom a name or id stands for. A
    /// contact that is named by its id may be deleted already.
    pub async fn delete_person(&self, name: &str) -> Result<PersonalDataCounts> {
        self.authorize(OrgPermission::Configure).await?;
        if let Ok(id) = name.trim().parse() {
            return self.delete_contact(id).await;
        }
        match self.find_person(name).await? {
            Person::Contact(stored) => self.delete_contact(stored.contact.id).await,
            Person::Visitor(visitor) => self.delete_visitor(&visitor).await,
        }
    }

    /// Returns a file of a message.
    pub async fn file(&self, id: BlobId) -> Result<StoredBlob> {
        Ok(self.authorize(OrgPermission::Configure).await?.blob(id).await?)
    }

    /// Starts an export of everything that the org stores about a person.
    pub async fn export_person(&self, person: &Person) -> Result<ContactExport<'o>> {
        let store = self.authorize(OrgPermission::Configure).await?;
        Ok(match person {
            Person::Contact(stored) => store.export_contact(stored.contact.id),
            Person::Visitor(visitor) => store.export_visitor(visitor.clone()),
        })
    }

    /// Deletes everything that the org stores about a contact, also from issues that were sent
    /// to its agency. An interrupted deletion is
    /// continued by a repeat.
    pub async fn delete_contact(&self, id: ContactId) -> Result<PersonalDataCounts> {
        let store = self.authorize(OrgPermission::Configure).await?;
        erase_issues(store, id).await?;
        let audit = fresh(AuditId::from_u128);
        Ok(store.erase_contact(id, self.actor.audit_actor(), audit).await?)
    }

    /// Deletes everything that the org stores about a visitor, who becomes a contact for
    /// that, so that an interrupted deletion can be continued.
    pub async fn delete_visitor(&self, visitor: &ChannelVisitor) -> Result<PersonalDataCounts> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let new = Contact {
            id: fresh(ContactId::from_u128),
            name: visitor.identifier.clone(),
            details: ContactDetails::default(),
            locale: None,
            tags: [].into(),
            notes: Vec::new(),
            crm: None,
        };
        let (channel, identifier) = (&visitor.channel, &visitor.identifier);
        let resolution = store.recognize_or_create(channel, identifier, new).await?;
        let (ostler_store::ContactResolution::Known(stored)
        | ostler_store::ContactResolution::Created(stored)) = resolution;
        self.delete_contact(stored.contact.id).await
    }

    /// Merges `other` into `kept`: identifiers, conversations and records move, `kept` gets
    /// the values that it does not have, and `other` is deleted.
    pub async fn merge_contacts(
        &self,
        kept: &StoredContact,
        other: &StoredContact,
    ) -> Result<(Contact, MergeCounts)> {
        let store = self.authorize(OrgPermission::Operate).await?;
        if kept.contact.id == other.contact.id {
            return Err(OperationError::SameContact);
        }
        let merged = merge(&kept.contact, &other.contact);
        let data = json!({
            "before": audit_data(&kept.contact),
            "after": audit_data(&merged),
            "merged": other.contact.id,
            "merged_name": other.contact.name,
        });
        let audit = self.audit_entry("merge_contacts", &kept.contact.id, &data);
        let counts = store.audited(audit).merge_contacts(kept, other, merged.clone()).await?;
        Ok((merged, counts))
    }

    /// Links a visitor to a contact: from the next message on agents know who it is, and show
    /// the contact's orders and bookings. The operator vouches for it.
    pub async fn link_visitor(
        &self,
        visitor: &ChannelVisitor,
        contact: &StoredContact,
    ) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let (channel, identifier) = (&visitor.channel, &visitor.identifier);
        let data = json!({"before": null, "after": {"channel": channel, "identifier": identifier}});
        let id = contact.contact.id;
        let audit = self.audit_entry("link_contact", &id, &data);
        Ok(store.audited(audit).link_identifier(id, channel, identifier).await?)
    }

    async fn filter_contacts(
        &self,
        mut after: Option<ContactId>,
        limit: usize,
        is_wanted: impl Fn(&Contact) -> bool,
    ) -> Result<Vec<StoredContact>> {
        let store = self.inner().store.org(self.org);
        let mut found = Vec::new();
        while found.len() < limit {
            let page = store.contacts(after, PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            after = page.last().map(|one| one.contact.id);
            found.extend(page.into_iter().filter(|one| is_wanted(&one.contact)));
            if is_last {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}

impl Person {
    /// Returns a text that names this person only.
    pub fn reference(&self) -> String {
        match self {
            Self::Contact(stored) => stored.contact.id.to_string(),
            Self::Visitor(visitor) => format!("{}:{}", visitor.channel, visitor.identifier),
        }
    }
}

/// Returns the person that was found. Fails if there is none or several.
fn only_person(name: &str, mut people: Vec<Person>) -> Result<Person> {
    match people.as_slice() {
        [] => Err(OperationError::NoContact(name.to_owned())),
        [_] => Ok(people.remove(0)),
        several => {
            let candidates: Vec<String> = several.iter().map(Person::reference).collect();
            let (name, candidates) = (name.to_owned(), candidates.join(", "));
            Err(OperationError::ManyPeople { name, candidates })
        }
    }
}

/// Erases a contact's words from the issues about their conversations, in this org and where
/// the issues were sent. Repeating it changes nothing.
async fn erase_issues(store: OrgStore<'_>, id: ContactId) -> Result<()> {
    let contact = match store.contact(id).await {
        Ok(contact) => contact,
        // An erasure is continued; this was its first step.
        Err(StoreError::NotFound(_)) => return Ok(()),
        Err(other) => return Err(other.into()),
    };
    let sessions = store.contact_sessions(contact, MAX_SESSIONS).await?;
    let own: BTreeSet<ConversationId> = sessions.iter().map(|one| one.conversation).collect();
    let mut after = None;
    loop {
        let page = store.records(ISSUE, after, PAGE).await?;
        for record in &page {
            let Ok(mut issue) = decode::<Issue>("issue", &record.data) else { continue };
            if !issue.conversation.is_some_and(|conversation| own.contains(&conversation)) {
                continue;
            }
            issue.erase_words();
            let (orgs, data) = ([issue.source.org, issue.target.org].into(), encode(&issue));
            store.erase_shared_record(ISSUE, record.id, record.version, orgs, data).await?;
        }
        match page.last() {
            Some(last) if page.len() == PAGE as usize => after = Some(last.id),
            _ => return Ok(()),
        }
    }
}

/// Whether a contact has a text, in lower case, in its name, address, number or tags.
fn matches_search(contact: &Contact, wanted: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(wanted);
    let without_space =
        |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let phone = contact.details.phone.as_deref().map(without_space).unwrap_or_default();
    has(&contact.name)
        || contact.details.email.as_deref().is_some_and(has)
        || phone.contains(&without_space(wanted))
        || contact.tags.iter().any(|tag| has(tag))
}

/// Returns what the audit log keeps of a contact.
fn audit_data(contact: &Contact) -> Value {
    let Contact { name, details, locale, tags, .. } = contact;
    json!({"name": name, "phone": details.phone, "email": details.email, "locale": locale,
        "tags": tags})
}
