//! Messages of a thread.

use std::borrow::Cow;

use ostler_domain::id::RunId;
use ostler_domain::message::MessagePart;
use ostler_domain::time::Timestamp;
use ostler_engine::history::Item;
use serde::{Deserialize, Serialize};

pub use ostler_domain::message::{MessageAuthor, MessagePurpose as Purpose};

use super::entry::text_of;

/// A message of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadMessage {
    pub at: Timestamp,
    pub author: MessageAuthor,
    pub parts: Vec<MessagePart>,
    /// The agent's tool calls before the message, with their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work: Vec<Item>,
    #[serde(default)]
    pub purpose: Purpose,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

impl ThreadMessage {
    /// Returns the text of all parts.
    pub fn text(&self) -> Cow<'_, str> {
        text_of(&self.parts)
    }
}
