//! Conversations: looking at them, taking over, writing, handing back.

use ostler_domain::channel::Channel;
use ostler_domain::id::{
    AgentId, BindingId, ContactId, ConversationId, OrgId, OutboxId, RunId, SessionId, UserId,
};
use ostler_domain::message::Part;
use ostler_domain::money::Credits;
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::session::key::Peer;
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::approval::Approval;
use crate::escalation::Escalation;

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The org.
    pub org: OrgId,
    /// The conversation that it is a part of.
    pub conversation: ConversationId,
    /// The channel.
    pub channel: Channel,
    /// The binding.
    pub binding: BindingId,
    /// Whom the org talks to, as the channel calls them.
    pub peer: Peer,
    /// Their name, if it is known.
    pub name: Option<String>,
    /// The contact they are recognized as.
    pub contact: Option<ContactId>,
    /// Whether an agent answers.
    pub status: Status,
    /// Why it ended, if it did.
    pub closed: Option<CloseReason>,
    /// Who answers, or would if no person did.
    pub agent: Option<AgentId>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// How many messages it has.
    pub messages: u32,
    /// Calls that wait for a person.
    pub pending_approvals: u32,
    /// Calls of which nobody knows what became.
    pub unknown_outcomes: u32,
    /// The last time that a person was asked for.
    pub escalation: Option<Escalation>,
    /// What it was about, once it is closed.
    pub summary: Option<String>,
}

/// Whether an agent answers in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// One does.
    Active,
    /// A person answers, or is asked to.
    HandedOff,
    /// It is over.
    Closed,
}

/// Which sessions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// All.
    #[default]
    All,
    /// Those in which a person answers, or is asked to.
    HandedOff,
}

/// A session with all that a screen shows of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionDetail {
    /// The session.
    pub session: Session,
    /// Its last messages, oldest first.
    pub messages: Vec<Message>,
    /// Its last runs, oldest first.
    pub runs: Vec<Run>,
    /// Calls that wait for a person.
    pub approvals: Vec<Approval>,
}

/// A message of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// When it was written.
    pub at: Timestamp,
    /// Who wrote it.
    pub author: Author,
    /// All words of it.
    pub text: String,
    /// What it is made of.
    pub parts: Vec<Part>,
    /// What it is for: `talk`, `transition`, `hold`, `notice`.
    pub purpose: String,
    /// The run that it belongs to.
    pub run: Option<RunId>,
}

/// Who wrote a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Author {
    /// The person outside.
    Customer {
        /// Their name, if it is known.
        name: Option<String>,
    },
    /// An agent.
    Agent {
        /// Which one.
        agent: AgentId,
    },
    /// A person of the org.
    Human {
        /// Who.
        user: UserId,
    },
    /// Nobody: it is about the conversation itself.
    System,
}

/// The record of answering one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// When it began.
    pub at: Timestamp,
    /// How it ended, as a word.
    pub outcome: String,
    /// Its turns: one, or several if agents handed over.
    pub turns: Vec<RunTurn>,
    /// All that it cost.
    pub credits: Credits,
}

/// A turn of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTurn {
    /// The agent.
    pub agent: AgentId,
    /// Where it stands in the tree of orgs.
    pub business_layer: BusinessLayer,
    /// What was decided about its calls, in order.
    pub decisions: Vec<Decision>,
}

/// What was decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The tool, as the model named it.
    pub tool: String,
    /// What was decided and why, in words.
    pub verdict: String,
}

/// A session that a person has from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenOver {
    /// The session.
    pub session: Session,
    /// How many replies of agents were withdrawn before they were sent.
    pub withdrawn: u64,
    /// Replies of agents that were being sent at that moment.
    pub in_flight: Vec<OutboxId>,
}

/// Words for the customer, which reach them as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Say {
    /// The words.
    pub text: String,
}

/// The agents that are to be a session's team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assign {
    /// Each by id, slug or subtype; the first one answers.
    pub agents: Vec<String>,
}

/// The agents that are a session's team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assigned {
    /// Their ids, in order.
    pub agents: Vec<AgentId>,
}
