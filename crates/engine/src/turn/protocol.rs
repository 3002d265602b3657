//! The protocol of a turn: inputs, actions, events and ends.

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::gate::{AskReason, GateDecision};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetExceeded, TurnBudget};
use ostler_domain::tool::{Risk, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::node::FollowUp;
use crate::gate::Authorized;
use crate::history::{CallId, Item, ToolCall};
use crate::model::{Chunk, ModelError, Request, Restart, StopReason, Usage};
use crate::outcome::OutcomeStatus;
use crate::tool::{ToolReply, UserQuestion};

/// The path to an agent of a turn: the calls that lead to it. Empty for the turn's
/// own agent.
pub type AgentPath = Vec<CallId>;

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// A part of the model's answer.
    Chunk(Chunk),
    ModelFailed(ModelError),
    Reply(CallId, ToolReply),
    /// A person's decision on a call.
    Decision(CallId, Decision),
    /// A person's answer to a question.
    Answer(CallId, Answer),
    /// This much more was reserved; zero if there is no more.
    ToppedUp(Credits),
    /// The budget has changed because others have spent or added credits.
    Budget(TurnBudget),
    /// A message to answer after the current one.
    FollowUp(FollowUp),
    /// A message to answer instead of the current one.
    Steer(FollowUp),
    /// A person stopped the turn.
    Abort,
    TimedOut,
}

/// A person's decision on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    Approve {
        /// The hash of the arguments the person saw.
        seen: ArgumentsHash,
        /// Arguments that replace those of the call.
        arguments: Option<Value>,
    },
    Reject {
        /// Shown to the model.
        reason: String,
    },
}

/// A person's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Text {
        text: String,
    },
    /// The answer to a plan.
    Plan {
        approved: bool,
        feedback: Option<String>,
    },
    /// An answer that ends the turn: the model is not asked again.
    Final {
        text: String,
    },
}

/// Something to do for an agent of the turn.
#[derive(Debug)]
pub enum TurnAction {
    CallModel {
        /// `None` means the turn's model.
        model: Option<String>,
        request: Request,
    },
    Run {
        call: Authorized,
        /// Whether the turn must be stored first, because the call has an external effect.
        checkpoint: bool,
    },
    /// Reserve this many more credits.
    TopUp(Credits),
}

/// Something that happened in a turn, for observers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TurnEvent {
    /// Text from the model; void after `DraftDiscarded`.
    Text { text: String },
    /// The text of the current answer is void.
    DraftDiscarded,
    /// The model failed; it or another one is asked again.
    Restarted(Restart),
    /// An answer is complete.
    Answered {
        usage: Usage,
        stop: StopReason,
        /// The calls in it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The gate decided on a call.
    Decided(GateRecord),
    /// A person is asked.
    Asked(Question),
    /// A person must decide on a call, and the turn continues without it.
    Deferred(Question),
    /// A call begins to run.
    CallStarted { call: ToolCall },
    CallEnded {
        call: CallId,
        tool: String,
        status: OutcomeStatus,
        /// What the model is told.
        content: String,
    },
    /// A tool failed too often and is disabled.
    ToolDisabled { tool: ToolName },
    #[serde(rename = "subagent_start", rename_all = "camelCase")]
    SubagentStarted { agent_type: String, task: String },
    #[serde(rename = "subagent_end", rename_all = "camelCase")]
    SubagentEnded {
        agent_type: String,
        duration_ms: u64,
        /// Its own messages, from its task on.
        #[serde(skip)]
        messages: Vec<Item>,
    },
    /// A follow-up was queued.
    FollowUpQueued {
        /// How many are queued.
        count: usize,
    },
    /// The turn has ended. Published once, as the last event.
    #[serde(rename = "agent_end", with = "ended")]
    Ended(TurnEnd),
}

/// The record of a gate decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRecord {
    pub call: CallId,
    /// The tool name as the model wrote it.
    pub tool: String,
    pub verdict: GateDecision,
}

/// An open question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The call that waits for the answer.
    pub call: ToolCall,
    #[serde(flatten)]
    pub kind: QuestionKind,
}

/// The kind of a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum QuestionKind {
    /// Whether the call may run.
    Approval {
        why: AskReason,
        risk: Risk,
        /// The arguments the approval is bound to.
        arguments: ArgumentsHash,
    },
    Ask(UserQuestion),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum TurnEnd {
    Answer {
        text: String,
        stop: StopReason,
    },
    /// A person stopped it.
    Aborted,
    TimedOut,
    /// The turn made too many model calls.
    StepLimit {
        limit: u32,
    },
    /// The model repeated the same call too often.
    Loop {
        tool: String,
    },
    /// The next step cannot be paid for.
    CreditsExhausted(BudgetExceeded),
    ModelFailed(ModelError),
}

/// The end of a turn in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    Complete,
    Aborted,
    Error,
}

impl TurnEnd {
    /// Returns the end in one word.
    pub const fn reason(&self) -> EndReason {
        match self {
            Self::Answer { .. } => EndReason::Complete,
            Self::Aborted => EndReason::Aborted,
            Self::TimedOut
            | Self::StepLimit { .. }
            | Self::Loop { .. }
            | Self::CreditsExhausted(_)
            | Self::ModelFailed(_) => EndReason::Error,
        }
    }
}

/// The wire format of the end event: the reason, and the details.
mod ended {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{EndReason, TurnEnd};

    #[derive(Serialize)]
    struct Ended<'a> {
        reason: EndReason,
        #[serde(flatten)]
        end: &'a TurnEnd,
    }

    pub(super) fn serialize<S: Serializer>(end: &TurnEnd, to: S) -> Result<S::Ok, S::Error> {
        Ended { reason: end.reason(), end }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TurnEnd, D::Error> {
        TurnEnd::deserialize(from)
    }
}

/// The reason why an input was rejected. It changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputRejected {
    #[error("the turn is not waiting for this input")]
    NotExpected,
    #[error("the approval is for other arguments than those of the call")]
    ArgumentsChanged,
    /// The arguments chosen by the person do not match the schema.
    #[error("the arguments do not match the schema of the tool: {why}")]
    InvalidArguments { why: String },
}

/// The result of a step.
#[derive(Debug, Default)]
pub struct TurnOutput {
    pub actions: Vec<(AgentPath, TurnAction)>,
    pub events: Vec<(AgentPath, TurnEvent)>,
}
