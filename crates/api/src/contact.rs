//! Contacts: the people that an organization knows.

use ostler_domain::channel::Channel;
use ostler_domain::contact::Contact;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
