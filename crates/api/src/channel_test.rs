//! Where channels are reached, what is wrong with them, and tests of them.

use ostler_domain::id::BindingId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Response to `GET channels/CHANNEL/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelStatus {
    /// The binding that the provider or the visitors reach.
    pub binding: BindingId,
    /// The page of a web chat; for other channels, the address to which their provider sends
    /// messages.
    pub address: String,
    /// Why it cannot be opened: its settings or its secret.
    pub open_failure: Option<String>,
    /// Why messages cannot be received at the moment.
    pub receive_failure: Option<String>,
}

/// Body of `POST channels/CHANNEL/test`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelTestRequest {
    /// The address of a person on the channel, who gets a test message; without it, none is
    /// sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// Response to `POST channels/CHANNEL/test`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelTestResult {
    /// Whether the channel can be opened and its provider accepts it.
    pub works: bool,
    /// What the provider said, or why the channel does not work.
    pub detail: String,
    /// Why messages cannot be received at the moment, as the server that receives them
    /// reported it.
    pub receive_failure: Option<String>,
    /// How a test message ended; `null` if none was sent.
    pub message: Option<TestMessageResult>,
}

/// How a test message ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestMessageResult {
    pub delivered: bool,
    /// Why it was not delivered.
    pub reason: Option<String>,
}
