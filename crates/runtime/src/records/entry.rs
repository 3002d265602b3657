//! Inbox entries: a message, or an event that the conversation continues with.

use std::borrow::Cow;

use ostler_channels::email_thread::EmailThread;
use ostler_domain::contact::SenderProof;
use ostler_domain::human::triggers::Trigger;
use ostler_domain::id::{AgentId, ApprovalId, CallId, RecordId, UserId};
use ostler_domain::message::MessagePart;
use serde::{Deserialize, Serialize};

use super::api_request::ApiRequest;
use super::bus_request::BusRequest;

/// An entry in the inbox of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum InboxEntry {
    Message(IncomingMessage),
    /// A person decided on a call.
    ApprovalDecided {
        approval: ApprovalId,
        /// The approved call is made even while a person has the conversation.
        #[serde(default)]
        at_once: bool,
    },
    /// An approval expired: nobody decided in time, or the call was not made in time.
    ApprovalExpired {
        approval: ApprovalId,
    },
    /// A person recorded the outcome of a call whose outcome was unknown.
    OutcomeResolved {
        call: CallId,
        outcome: String,
    },
    /// A person paid or refused a refund that an agent asked for.
    RefundSettled {
        refund: RecordId,
        /// What the agent learns of it.
        text: String,
    },
    /// The agent answers what was written while a person had the conversation.
    Continue {
        /// Triggers that do not escalate again.
        handled_triggers: Vec<Trigger>,
    },
    /// An operator made these agents the team; the first of them answers.
    TeamAssigned {
        agents: Vec<AgentId>,
        by: UserId,
    },
    /// What an agent sent to another business layer is settled; the agent reads it in its
    /// notices.
    AgentInformed {
        agent: AgentId,
    },
    /// The session is due: it may expire, or an escalation needs a reminder.
    Tick,
}

/// A message that somebody sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IncomingMessage {
    pub parts: Vec<MessagePart>,
    pub from: MessageSender,
    /// The agent that a deep link names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_agent: Option<AgentId>,
    /// The provider's id of the message, for replies that quote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The e-mail thread that a reply belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Box<EmailThread>>,
    /// The agents bound to the group of the message, if there are several; the first of them
    /// answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_agents: Vec<AgentId>,
    /// Set if the message is a request from the bus, which gets a reply of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_request: Option<Box<BusRequest>>,
    /// Set if the message is a request over the API, whose caller waits for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_request: Option<Box<ApiRequest>>,
    /// Notices to the sender about parts that were not accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

impl IncomingMessage {
    /// Returns the text of all parts.
    pub fn text(&self) -> Cow<'_, str> {
        text_of(&self.parts)
    }
}

/// The sender of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MessageSender {
    /// The channel's identifier of the sender.
    pub identifier: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// Whether the channel proves that this person sent it.
    #[serde(default)]
    pub proof: SenderProof,
}

/// Returns the text of all parts, joined by line breaks.
pub(crate) fn text_of(parts: &[MessagePart]) -> Cow<'_, str> {
    let mut texts = parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let mut text = Cow::Borrowed(texts.next().unwrap_or_default());
    for more in texts {
        let text = text.to_mut();
        text.push('\n');
        text.push_str(more);
    }
    text
}
