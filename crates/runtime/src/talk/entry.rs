//! What an inbox row says: somebody wrote, or something happened that the
//! conversation goes on with.

use std::borrow::Cow;

use ostler_channels::mail_thread::Thread;
use ostler_domain::human::triggers::Trigger;
use ostler_domain::id::{AgentId, ApprovalId, CallId, UserId};
use ostler_domain::message::Part;
use serde::{Deserialize, Serialize};

use super::asked::Asked;

/// What an inbox row says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// Somebody wrote.
    Wrote(Wrote),
    /// A person decided on a call, or nobody did in time.
    Decided {
        /// The approval.
        approval: ApprovalId,
    },
    /// Somebody found out what became of a call.
    Resolved {
        /// The call.
        call: CallId,
        /// What became of it.
        outcome: String,
    },
    /// An agent goes on with what was written while it was silent.
    GoOn {
        /// What need not go to a person again.
        settled: Vec<Trigger>,
    },
    /// An operator made these agents a team; the first of them answers.
    Assigned {
        /// The agents.
        agents: Vec<AgentId>,
        /// Who did.
        by: UserId,
    },
    /// Time has passed: the session may have to be closed, or somebody reminded.
    Tick,
}

/// What somebody wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Wrote {
    /// What it is made of.
    pub parts: Vec<Part>,
    /// Who wrote it.
    pub from: Writer,
    /// The agent that a link named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_agent: Option<AgentId>,
    /// The provider's id of it, for replies that refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The thread of e-mail that an answer belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Box<Thread>>,
    /// The agents that are bound to the group it was written in, if there are
    /// several; the first of them answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<AgentId>,
    /// The message of the bus that this is, which has an answer of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<Asked>>,
    /// What could not be taken, in words for the writer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

impl Wrote {
    /// All words of it.
    pub fn text(&self) -> Cow<'_, str> {
        text_of(&self.parts)
    }
}

/// Who wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Writer {
    /// What the channel calls them.
    pub identifier: String,
    /// Their name, if the channel knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Their language, if the channel knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
}

/// The words of a message, part by part.
pub(crate) fn text_of(parts: &[Part]) -> Cow<'_, str> {
    let mut words = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let mut text = Cow::Borrowed(words.next().unwrap_or_default());
    for more in words {
        let text = text.to_mut();
        text.push('\n');
        text.push_str(more);
    }
    text
}
