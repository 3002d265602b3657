//! A conversation as people read it: messages, tool calls, the decision on each call, and what
//! people did.

use ostler_domain::human::escalation::Urgency;
use ostler_domain::id::{AgentId, ApprovalId, RunId, UserId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::session::Session;

/// A session with its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transcript {
    pub session: Session,
    /// Set if several agents take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TranscriptTeam>,
    /// In the order in which they happened.
    pub lines: Vec<TranscriptLine>,
    /// The last run in which an agent answered.
    pub last_run: Option<RunId>,
}

/// The team of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptTeam {
    /// The names of the agents, in the order in which they joined.
    pub members: Vec<String>,
    pub handoffs: usize,
    /// What the customer wants, as the agents understood it.
    pub goal: Option<String>,
}

/// A line of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum TranscriptLine {
    Message(MessageLine),
    Call(Box<CallLine>),
    Escalation(EscalationLine),
    /// What a person did with the session.
    Change(SessionChange),
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    pub at: Timestamp,
    pub who: String,
    /// Attachments are described in brackets.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<HandoffNote>,
}

/// The handoff that a message announces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffNote {
    /// The position among the handoffs of the session, from 1.
    pub number: usize,
    /// The name of the agent.
    pub to: String,
}

/// A tool call with the decision of the gate and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallLine {
    pub run: RunId,
    pub who: String,
    pub tool: String,
    pub arguments: Option<Value>,
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// The reason of the decision.
    pub why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalId>,
    /// `ok`, or why the tool did not do what it was called for; `null` until the call ends.
    pub status: Option<String>,
    /// The status in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_text: Option<String>,
    /// What the model was told.
    pub result: Option<String>,
    /// The setting behind a decision to ask or to deny, as it was when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<DecisionRule>,
}

/// An escalation to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EscalationLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    pub reason: String,
    pub urgency: Option<Urgency>,
}

/// What happened to a session besides messages and calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SessionEvent {
    /// An agent handed the session to another one.
    Handoff(HandoffEvent),
    /// An agent, or a rule, asked for a person.
    Escalation(EscalationEvent),
    /// A person did something with it.
    Change(SessionChange),
}

impl SessionEvent {
    /// Returns when it happened.
    pub const fn at(&self) -> Timestamp {
        match self {
            Self::Handoff(event) => event.at,
            Self::Escalation(event) => event.at,
            Self::Change(event) => event.at,
        }
    }
}

/// A handoff from one agent to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffEvent {
    pub at: Timestamp,
    pub from: AgentId,
    pub to: AgentId,
    pub reason: String,
    /// What the next agent was told.
    pub context_summary: String,
}

/// An escalation in the past or at present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EscalationEvent {
    pub at: Timestamp,
    pub run: RunId,
    pub reason: String,
}

/// What a person did with a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionChange {
    pub at: Timestamp,
    pub who: String,
    /// The person, or the key as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UserId>,
    /// The action in the audit log.
    pub action: String,
    /// The tool whose call was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Why it was rejected, or what was settled before the session was handed back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SessionChange {
    /// Describes what the person did, behind their name.
    pub fn describe(&self) -> String {
        let tool = self.tool.as_deref().unwrap_or("a call");
        match self.action.as_str() {
            "take_over" => "took the conversation over; the agents stop answering".to_owned(),
            "resume" => "handed the conversation back to the agents".to_owned(),
            "dismiss_escalation" => "dismissed the escalation as a false alarm".to_owned(),
            "close_session" => "closed the session".to_owned(),
            "assign_team" => "assigned a team of agents".to_owned(),
            "add_note" => "added a note".to_owned(),
            "delete_note" => "deleted a note".to_owned(),
            "approve" => format!("approved {tool}"),
            "approve_with_changes" => format!("approved {tool} with other arguments"),
            "refused" => match &self.tool {
                Some(tool) => format!("tried to decide about {tool} and was not allowed to"),
                None => "tried to change the session and was not allowed to".to_owned(),
            },
            "reject" => {
                format!("rejected {tool}: {}", self.reason.as_deref().unwrap_or_default())
            }
            other => other.replace('_', " "),
        }
    }
}

/// The rule behind a decision on a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionRule {
    /// The setting; `null` if the rule is built in.
    pub setting: Option<RuleSetting>,
}

/// The setting that a decision comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleSetting {
    /// The resource that has it, as in the audit log.
    pub resource: String,
    pub field: String,
    /// Who set it last; `null` if that is not recorded or not for the caller to see.
    pub set_by: Option<String>,
    pub set_at: Option<Timestamp>,
    /// The file and line that it was applied from.
    pub place: Option<String>,
    /// The command that changes as little as possible and lets such calls run.
    pub allow_with: Option<String>,
    /// How many calls of the last seven days waited or were refused for this setting.
    pub past_calls: usize,
}

impl TranscriptLine {
    /// Returns the run that the line belongs to.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Self::Message(line) => line.run,
            Self::Escalation(line) => line.run,
            Self::Call(call) => Some(call.run),
            Self::Change(_) => None,
        }
    }
}
