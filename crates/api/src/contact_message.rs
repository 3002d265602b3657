//! Messages that people of an organization write in the place of a contact.

use ostler_domain::id::{BindingId, ConversationId, RunId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST contact-messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewContactMessage {
    /// The channel, by its name or its kind.
    pub channel: String,
    /// The contact as the channel knows it: a name, an e-mail address or a telephone number.
    pub contact: String,
    /// Whether it is written as the owner, who reaches the PM; for owners only.
    #[serde(default)]
    pub as_owner: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ContactFile>,
}

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactFile {
    pub name: String,
    pub media_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// A message that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedContactMessage {
    /// By which its answer is found.
    pub id: String,
    pub channel: BindingId,
    pub conversation: ConversationId,
}

/// What answered a message; both are `null` until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContactReply {
    pub run: Option<RunId>,
    pub session: Option<SessionId>,
}
