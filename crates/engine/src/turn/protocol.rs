//! What goes into a turn and what comes out of it.

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::gate::{AskReason, Verdict};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{OverBudget, TurnBudget};
use ostler_domain::tool::{Risk, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::node::FollowUp;
use crate::gate::Authorized;
use crate::history::{CallId, ToolCall};
use crate::model::{Chunk, ModelError, Request, Restart, StopReason, Usage};
use crate::outcome::Status;
use crate::tool::{Ask, Reply};

/// Which agent of a turn is meant: the calls that lead down to it. Empty is the
/// agent that the turn belongs to.
pub type Path = Vec<CallId>;

/// Something that happened, as the turn is told it.
#[derive(Debug)]
pub enum Input {
    /// A piece of the model's answer.
    Chunk(Chunk),
    /// The model did not answer.
    ModelFailed(ModelError),
    /// What a tool answered.
    Reply(CallId, Reply),
    /// What a person decided on a call.
    Decision(CallId, Decision),
    /// What a person answered.
    Answer(CallId, Answer),
    /// This much more was reserved; nothing if there is no more.
    ToppedUp(Credits),
    /// Others have spent, or granted: this is the budget now.
    Budget(TurnBudget),
    /// Somebody wrote while the turn is running; it waits until it has answered.
    FollowUp(FollowUp),
    /// Somebody wrote instead: the turn drops what it does and answers this.
    Steer(FollowUp),
    /// Somebody stopped the turn.
    Abort,
    /// The turn has taken too long.
    TimedOut,
}

/// A person's decision on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// It may run, with these arguments if they were changed.
    Approve {
        /// The fingerprint of what the person saw.
        seen: ArgumentsHash,
        /// Other arguments.
        arguments: Option<Value>,
    },
    /// It may not.
    Reject {
        /// Why; the model is told.
        reason: String,
    },
}

/// A person's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// In words.
    Text {
        /// The words.
        text: String,
    },
    /// To a plan.
    Plan {
        /// Whether it is to be followed.
        approved: bool,
        /// What to change.
        feedback: Option<String>,
    },
}

/// Something to do for an agent of the turn.
#[derive(Debug)]
pub enum Action {
    /// Ask the model.
    CallModel {
        /// Which one; none is the turn's own.
        model: Option<String>,
        /// What it is asked.
        request: Request,
    },
    /// Run a tool.
    Run {
        /// The call.
        call: Authorized,
        /// Whether the turn's state is to be stored first, because this has an
        /// effect outside.
        checkpoint: bool,
    },
    /// Reserve this much more.
    TopUp(Credits),
}

/// Something that others may want to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The model said something; not kept if a draft is discarded.
    Text {
        /// The words.
        text: String,
    },
    /// What the model has said in this answer is void.
    DraftDiscarded,
    /// The model failed and is asked again, or another one is.
    Restarted(Restart),
    /// An answer is complete.
    Answered {
        /// What it used.
        usage: Usage,
        /// Why it ended.
        stop: StopReason,
    },
    /// The gate decided on a call.
    Decided(Judgement),
    /// A person is asked.
    Asked(Question),
    /// A call is to be decided by a person, and the turn goes on without it.
    Deferred(Question),
    /// A call has ended.
    CallEnded {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// How it ended.
        status: Status,
    },
    /// A tool has failed too often and is off from now on.
    ToolDisabled {
        /// The tool.
        tool: ToolName,
    },
    /// Another agent begins to work.
    #[serde(rename = "subagent_start", rename_all = "camelCase")]
    SubagentStarted {
        /// Its kind.
        agent_type: String,
        /// Its work.
        task: String,
    },
    /// It is done.
    #[serde(rename = "subagent_end", rename_all = "camelCase")]
    SubagentEnded {
        /// Its kind.
        agent_type: String,
        /// How long it took.
        duration_ms: u64,
    },
    /// Something was written meanwhile and waits.
    FollowUpQueued {
        /// How much waits.
        count: usize,
    },
    /// The turn is over. This comes once and last.
    #[serde(rename = "agent_end", with = "ended")]
    Ended(End),
}

/// The gate's decision on a call, for the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The call.
    pub call: CallId,
    /// The tool, as the model named it.
    pub tool: String,
    /// What was decided, and why.
    pub verdict: Verdict,
}

/// A question that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The call that waits for the answer.
    pub call: ToolCall,
    /// What is asked.
    #[serde(flatten)]
    pub kind: QuestionKind,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum QuestionKind {
    /// Whether the call may run.
    Approval {
        /// Why it asks.
        why: AskReason,
        /// How bad a wrong call would be.
        risk: Risk,
        /// What an approval is bound to.
        arguments: ArgumentsHash,
    },
    /// Something that a tool wants to know.
    Ask(Ask),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// With an answer.
    Answer {
        /// The answer.
        text: String,
        /// Why the model stopped.
        stop: StopReason,
    },
    /// Somebody stopped it.
    Aborted,
    /// It took too long.
    TimedOut,
    /// It took too many steps.
    StepLimit {
        /// How many it may take.
        most: u32,
    },
    /// The model called the same again and again.
    Loop {
        /// What it called.
        tool: String,
    },
    /// The next step cannot be paid for.
    CreditsExhausted(OverBudget),
    /// The model did not answer.
    ModelFailed(ModelError),
}

/// How a turn ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// With an answer.
    Complete,
    /// Somebody stopped it.
    Aborted,
    /// It did not come to an answer.
    Error,
}

impl End {
    /// How it ended, in one word.
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

/// The end of a turn on the wire: in one word, and how it came to it.
mod ended {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{End, EndReason};

    #[derive(Serialize)]
    struct Ended<'a> {
        reason: EndReason,
        #[serde(flatten)]
        end: &'a End,
    }

    pub(super) fn serialize<S: Serializer>(end: &End, to: S) -> Result<S::Ok, S::Error> {
        Ended { reason: end.reason(), end }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<End, D::Error> {
        End::deserialize(from)
    }
}

/// Why an input was not taken. It changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// Nothing waits for it.
    #[error("the turn does not wait for this")]
    NotExpected,
    /// It is an approval of something else than is asked.
    #[error("this was approved for other arguments than it is asked for now")]
    OtherArguments,
    /// The arguments that were approved instead do not fit the tool.
    #[error("these arguments do not fit the tool: {why}")]
    BadArguments {
        /// What is wrong with them.
        why: String,
    },
}

/// What a step of a turn results in.
#[derive(Debug, Default)]
pub struct Out {
    /// What is to be done, and for which agent.
    pub actions: Vec<(Path, Action)>,
    /// What happened, and to which agent.
    pub events: Vec<(Path, Event)>,
}
