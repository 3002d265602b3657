//! Outbox entries: a message and its destination.

use ostler_channels::email_thread::EmailThread;
use ostler_domain::id::{AgentId, BindingId, MessageId};
use ostler_domain::message::MessagePart;
use ostler_domain::session::key::Peer;
use serde::{Deserialize, Serialize};

use super::bus_request::BusRequest;

/// The action of the button that acknowledges a notice; its id follows after a colon.
pub(crate) const ACKNOWLEDGE: &str = "ack";

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingMessage {
    pub binding: BindingId,
    pub to: Peer,
    pub parts: Vec<MessagePart>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<OutgoingButton>,
    /// The agent that writes to somebody outside the org.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The message of the thread, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The provider's id of the message it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The e-mail thread it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<EmailThread>,
    /// The bus request it replies to; it is then sent to the bus and through no binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_request: Option<Box<BusRequest>>,
    /// Sent without formatting, because the provider refused the formatted text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_text: bool,
}

/// A button below a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingButton {
    pub label: String,
    /// Sent back when the button is pressed.
    pub data: String,
}
