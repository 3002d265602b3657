//! A message of a thread.

use std::borrow::Cow;

use ostler_domain::id::{AgentId, RunId, UserId};
use ostler_domain::message::Part;
use ostler_domain::time::Timestamp;
use ostler_engine::history::Item;
use serde::{Deserialize, Serialize};

use super::entry::text_of;

/// A message of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadMessage {
    /// When it was written.
    pub at: Timestamp,
    /// Who wrote it.
    pub author: MessageAuthor,
    /// What it is made of.
    pub parts: Vec<Part>,
    /// What an agent did before it wrote, and what that came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work: Vec<Item>,
    /// What it is for.
    #[serde(default)]
    pub purpose: Purpose,
    /// The run that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

/// Who wrote a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum MessageAuthor {
    /// The person outside.
    Customer {
        /// Their name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// An agent.
    Agent {
        /// Which one.
        id: AgentId,
    },
    /// A person who had taken over.
    Human {
        /// Who.
        user: UserId,
    },
    /// The runtime.
    System,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It is a part of the conversation.
    #[default]
    Talk,
    /// It leads over to a colleague's answer.
    Transition,
    /// It asks the customer to wait.
    Hold,
    /// It tells the customer something about the conversation itself.
    Notice,
}

impl ThreadMessage {
    /// All words of it.
    pub fn text(&self) -> Cow<'_, str> {
        text_of(&self.parts)
    }
}
