//! Messages of a thread.

use std::borrow::Cow;

use ostler_domain::id::{AgentId, RunId, UserId};
use ostler_domain::message::MessagePart;
use ostler_domain::time::Timestamp;
use ostler_engine::history::Item;
use serde::{Deserialize, Serialize};

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

/// The author of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum MessageAuthor {
    Customer {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    Agent {
        id: AgentId,
    },
    /// A person who took the conversation over.
    Human {
        user: UserId,
    },
    /// The runtime itself.
    System,
}

/// The purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    #[default]
    Talk,
    /// Introduces a colleague's answer.
    Transition,
    /// Asks the customer to wait.
    Hold,
    /// Tells the customer something about the conversation itself.
    Notice,
}

impl ThreadMessage {
    /// Returns the text of all parts.
    pub fn text(&self) -> Cow<'_, str> {
        text_of(&self.parts)
    }
}
