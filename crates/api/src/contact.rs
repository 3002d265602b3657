//! Contacts: the people that an organization knows; and visitors, who have written and are no
//! contacts yet.

use ostler_domain::channel::Channel;
use ostler_domain::contact::Contact;
use ostler_domain::id::{ContactId, ConversationId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::session::Session;

/// A contact in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContactEntry {
    #[serde(flatten)]
    pub contact: Contact,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A contact with its identifiers and conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContactDetail {
    pub contact: ContactEntry,
    pub identifiers: Vec<ContactIdentifier>,
    /// Newest first.
    pub sessions: Vec<Session>,
}

/// An identifier of a contact on a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContactIdentifier {
    pub channel: Channel,
    pub identifier: String,
}

/// Body of `POST contacts/CONTACT/merge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeRequest {
    /// The contact that is merged into this one and deleted, by id, identifier or name.
    pub other: String,
}

/// What a merge moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergedContact {
    pub contact: Contact,
    pub identifiers: u64,
    pub conversations: u64,
    pub records: u64,
}

/// Somebody who has written and is no contact, known by an identifier on a channel only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Visitor {
    pub channel: Channel,
    /// As the channel writes it.
    pub identifier: String,
    /// The person's newest conversation.
    pub conversation: ConversationId,
}

impl Visitor {
    /// Returns a text that names this person only.
    pub fn reference(&self) -> String {
        format!("{}:{}", self.channel, self.identifier)
    }
}

/// A contact or a visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Person {
    Contact(ContactEntry),
    Visitor(Visitor),
}

/// A person with identifiers, conversations and what they cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PersonDetail {
    pub person: Person,
    pub identifiers: Vec<ContactIdentifier>,
    /// The newest conversations, newest first, without tests.
    pub sessions: Vec<Session>,
    /// What all conversations have cost.
    pub credits: Credits,
    /// How much is stored about the person; `null` for those who may not export it.
    pub stored: Option<Vec<StoredData>>,
}

/// How much of a kind is stored about a person, or was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredData {
    /// `contact`, `conversation`, `inbound`, `outbound`, `checkpoint`, `call`, `session`,
    /// `message`, `note`, `run`, `approval`, `event`, `notice`, `file`, `record` or `workflow`.
    pub kind: String,
    pub count: u64,
}

/// Response to `DELETE people/PERSON` and `GET people/PERSON/stored-data`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PersonalData {
    pub items: Vec<StoredData>,
}

/// The first line of an export. The others are [`ExportedItem`]s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportHead {
    pub org: OrgId,
    /// What names the person.
    pub contact: String,
}

/// An item of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedItem {
    /// A kind of [`StoredData`].
    pub kind: String,
    pub value: Value,
}

/// Body of `POST people/PERSON/link`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkVisitorRequest {
    /// The contact that the visitor is, by id, identifier or name.
    pub contact: String,
}

/// A visitor who is a contact from the next message on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkedVisitor {
    pub contact: ContactId,
    pub name: String,
    pub channel: Channel,
    pub identifier: String,
}
