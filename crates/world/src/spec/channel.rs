//! Channels through which customers reach an org.

use ostler_domain::channel::Channel;
use ostler_domain::secret::SecretRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A channel through which customers reach an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelDefinition {
    /// Its organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    /// The name in commands and files, unique in the organization.
    pub name: String,
    /// What it is: `webchat`, `telegram`, `email`, `webhook`, or a webhook under another
    /// name such as `sms` or `whatsapp`.
    pub kind: Channel,
    /// The agent that answers there, by slug.
    pub agent: String,
    /// Whether messages are received and sent.
    #[serde(default = "super::on")]
    pub enabled: bool,
    /// The one with the lowest number is used first.
    #[serde(default = "first")]
    pub priority: u32,
    /// The settings of the channel; see docs/CHANNELS.md.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Where its secret is: `env:NAME` or `file:PATH`, never the secret itself. Web chats
    /// and webhooks get a new secret if it is left out.
    #[serde(default)]
    pub secret: Option<SecretRef>,
}

const fn first() -> u32 {
    1
}
