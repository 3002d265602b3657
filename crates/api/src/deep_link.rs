//! Links that open a conversation with an org.

use ostler_domain::id::{AgentId, RecordId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link to an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeepLink {
    pub id: RecordId,
    /// The agent that the agency's owner tests; `null` for the PM.
    pub agent: Option<AgentId>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// Body of `POST deep-links`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDeepLinkRequest {
    /// The agent that the agency's owner tests, by slug, id or subtype.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Days until the link expires.
    pub days: u32,
}

/// A new link. It is not shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewDeepLink {
    pub id: RecordId,
    /// The address; `null` if the name of the bot is not known.
    pub url: Option<String>,
    /// What follows `/start` in a message to the bot.
    pub start: String,
    pub expires_at: Timestamp,
}
