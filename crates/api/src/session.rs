//! Sessions: reading, takeover, writing to the customer, handing back.

use ostler_domain::channel::Channel;
use ostler_domain::id::{
    AgentId, BindingId, ContactId, ConversationId, OrgId, OutboxId, RunId, SessionId, UserId,
};
use ostler_domain::message::MessagePart;
use ostler_domain::money::Credits;
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::session::key::Peer;
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Audience;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::Approval;
use crate::escalation::Escalation;
use crate::transcript::SessionEvent;

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    pub id: SessionId,
    pub org: OrgId,
    pub conversation: ConversationId,
    pub channel: Channel,
    pub binding: BindingId,
    /// The person or group, by the channel's identifier.
    pub peer: Peer,
    pub name: Option<String>,
    pub contact: Option<ContactId>,
    pub status: SessionState,
    pub closed: Option<CloseReason>,
    /// The agent that answers, or would if no person did.
    pub agent: Option<AgentId>,
    pub opened_at: Timestamp,
    pub messages: u32,
    pub pending_approvals: u32,
    pub unknown_outcomes: u32,
    pub escalation: Option<Escalation>,
    /// Set when the session is closed.
    pub summary: Option<String>,
    /// Whether a customer writes, or somebody of the organization.
    pub audience: Audience,
    /// What its runs have cost.
    pub spent: Credits,
    /// What its runs may cost.
    pub credit_cap: Credits,
}

impl Session {
    /// Returns the escalation that a person has not ended.
    pub fn open_escalation(&self) -> Option<&Escalation> {
        self.escalation.as_ref().filter(|one| one.status.is_open())
    }

    /// Returns the identifier of the person or group on the channel.
    pub fn peer_name(&self) -> &str {
        match &self.peer {
            Peer::Person(name) | Peer::Group(name) => name,
        }
    }

    /// Returns the name of the contact: as the channel knows it, or a short one for visitors
    /// without a name.
    pub fn contact_name(&self) -> String {
        let identifier = self.peer_name();
        match &self.name {
            Some(name) => name.clone(),
            None if is_random(identifier) => {
                let start: String = identifier.chars().take(VISITOR_CHARS).collect();
                format!("visitor {start}")
            }
            None => identifier.to_owned(),
        }
    }
}

/// How many characters of a visitor's identifier are shown.
const VISITOR_CHARS: usize = 6;

/// Returns whether an identifier was made up for a visitor: a long row of hexadecimal digits.
fn is_random(identifier: &str) -> bool {
    identifier.len() >= 24 && identifier.chars().all(|c| c.is_ascii_hexdigit())
}

/// Who answers in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// An agent.
    Active,
    /// A person, or a person was asked for.
    HandedOff,
    Closed,
}

/// Filter of the list of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionFilter {
    #[default]
    All,
    HandedOff,
    /// Open ones that the caller looks after.
    AssignedToMe,
    /// Open ones with messages that the caller has not read.
    Unread,
}

/// A session with its messages, runs and pending approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionDetail {
    pub session: Session,
    /// Its last messages, oldest first.
    pub messages: Vec<Message>,
    /// Its last runs, oldest first.
    pub runs: Vec<Run>,
    pub approvals: Vec<Approval>,
    /// What happened besides messages and calls, oldest first.
    #[serde(default)]
    pub timeline: Vec<SessionEvent>,
}

/// A message of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub at: Timestamp,
    pub author: Author,
    pub text: String,
    pub parts: Vec<MessagePart>,
    /// `talk`, `transition`, `hold`, `notice`.
    pub purpose: String,
    pub run: Option<RunId>,
}

/// A message of a session with its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionMessage {
    /// The position, from 1.
    pub seq: i64,
    #[serde(flatten)]
    pub message: Message,
}

/// Who wrote a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Author {
    Customer { name: Option<String> },
    Agent { agent: AgentId },
    Human { user: UserId },
    System,
}

/// The record of answering one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    pub id: RunId,
    pub at: Timestamp,
    /// How it ended, as a stable word.
    pub outcome: String,
    pub turns: Vec<RunTurn>,
    pub credits: Credits,
}

/// A turn of a run: one agent's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunTurn {
    pub agent: AgentId,
    pub business_layer: BusinessLayer,
    /// Decisions about its tool calls, in order.
    pub decisions: Vec<ToolDecision>,
}

/// The gate's decision about a tool call, and how the call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDecision {
    pub call: String,
    pub tool: String,
    /// `allow`, `ask`, `deny`.
    pub decision: String,
    /// The reason of the decision, in words.
    pub verdict: String,
    /// As the model wrote them; `None` if they are not stored.
    pub arguments: Option<Value>,
    /// `None` if the call has not ended.
    pub outcome: Option<CallOutcome>,
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallOutcome {
    /// `ok`, or why the tool did not do what it was called for.
    pub status: String,
    /// What the model was told.
    pub text: String,
}

/// Response to `POST sessions/ID/take-over`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakeoverResult {
    pub session: Session,
    /// Number of agent replies withdrawn before they were sent.
    pub withdrawn: u64,
    /// Agent replies that were already being sent at that moment.
    pub in_flight: Vec<OutboxId>,
    /// Those of `in_flight` whose sending had not ended when this was answered, two seconds
    /// later at most.
    #[serde(default)]
    pub still_sending: Vec<OutboxId>,
}

/// Body of `POST sessions/ID/messages`: sent to the customer verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessageRequest {
    pub text: String,
}

/// Body of `POST sessions/ID/resume`, which may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {
    /// What the agent is told besides what was written to the customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
}

/// Body of `POST sessions/ID/assign`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssignRequest {
    /// Ids, slugs or subtypes; the first agent answers.
    pub agents: Vec<String>,
}

/// Response to `POST sessions/ID/assign`: the team in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssignResponse {
    pub agents: Vec<AgentId>,
}

#[cfg(test)]
mod tests {
    use super::is_random;

    #[test]
    fn identifiers_of_visitors_are_rows_of_digits() {
        for (identifier, expected) in [
            ("9f86d081884c7d659a2feaa0c55ad015", true),
            ("rosa", false),
            ("+39061234567", false),
            ("rosa.bianchi@a-long-domain.example", false),
        ] {
            assert_eq!(is_random(identifier), expected, "{identifier}");
        }
    }
}
