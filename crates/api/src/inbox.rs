//! The inbox of an agency: what waits for a person in it and its clients.

use ostler_domain::id::{OrgId, UserId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::escalation::Escalation;
use crate::session::{Message, Session};

/// A conversation that waits for a person or is held by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboxEntry {
    pub org: OrgId,
    pub org_slug: String,
    pub org_name: String,
    pub session: Session,
    pub escalation: Escalation,
    /// Who has taken it over; `null` while nobody has.
    pub holder: Option<UserId>,
    /// Since when the customer waits for a person.
    pub waiting_since: Timestamp,
    pub last_message: Option<Message>,
}

/// Filter of the inbox by who holds a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InboxHolder {
    #[default]
    Anybody,
    /// The caller.
    Me,
    /// Nobody yet.
    Nobody,
}
