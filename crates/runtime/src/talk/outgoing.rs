//! What an outbox row says: a message and where it goes.

use ostler_channels::mail_thread::Thread;
use ostler_domain::id::{BindingId, MessageId};
use ostler_domain::message::Part;
use ostler_domain::session::key::Peer;
use serde::{Deserialize, Serialize};

use super::asked::Asked;

/// A message on its way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outgoing {
    /// The binding that it goes through.
    pub binding: BindingId,
    /// To whom.
    pub to: Peer,
    /// What it is made of.
    pub parts: Vec<Part>,
    /// Buttons below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Button>,
    /// The message of the thread that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The provider's id of what it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// The thread of e-mail that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Thread>,
    /// The message of the bus that it answers: it goes back there, and through no
    /// binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<Asked>>,
    /// Whether it goes without formatting, because the provider could not read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
}

/// A button below a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// What comes back when it is pressed.
    pub data: String,
}
