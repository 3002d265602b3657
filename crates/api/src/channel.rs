//! Channels as they are bound to an organization: where they are reached, and what is wrong with
//! them.

use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::secret::SecretRef;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A channel that is bound to an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelBinding {
    pub binding: BindingId,
    pub org: OrgId,
    /// The name in world files.
    pub name: String,
    pub channel: Channel,
    /// The agent that answers customers.
    pub agent: AgentId,
    pub agent_slug: String,
    pub enabled: bool,
    /// The channel with the lowest number is used first.
    pub priority: u32,
    pub settings: Value,
    /// Where its secret is.
    pub secret: Option<SecretRef>,
    /// The page of a web chat; for other channels, the address to which their provider sends
    /// messages.
    pub address: String,
    /// Whether the server asks the provider for messages, instead of being called.
    pub polls: bool,
    /// Why it cannot be opened: its settings or its secret.
    pub error: Option<String>,
    /// Whether the reason is that its secret cannot be read on the server's machine.
    pub lacks_secret: bool,
    /// Since when and why messages cannot be received.
    pub failing_since: Option<Timestamp>,
    pub failure: Option<String>,
    /// After a change: what keeps it from working on the server's machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Body of `POST bindings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewChannelRequest {
    /// `telegram`, `webchat`, `email`, `webhook`, or a webhook under another name.
    pub channel: Channel,
    /// Those of the channel; every channel has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Map<String, Value>>,
    /// Where its secret is. Without it, web chats and webhooks get a new one, and a bot uses the
    /// organization's variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretRef>,
    /// The agent that answers, by id, slug or subtype; by default the one that customers reach
    /// first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The channel with the lowest number is used first.
    #[serde(default = "first")]
    pub priority: u32,
}

const fn first() -> u32 {
    1
}

/// Body of `PATCH bindings/BINDING`. What is left out stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelChange {
    /// All settings; those that are left out get their defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}
