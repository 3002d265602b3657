//! The questions of steps to people, and their answers.

use ostler_domain::gate::GateDecision;
use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::tool::Risk;
use ostler_domain::workflow::ItemProgress;
use ostler_engine::history::CallId;
use ostler_engine::tool::UserQuestion;
use ostler_engine::turn::{AgentPath, Answer, Decision, Question, QuestionKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question waiting for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The key for the answer.
    pub key: String,
    /// The agent inside the turn that asks; empty for the step's own.
    #[serde(default, skip_serializing_if = "AgentPath::is_empty")]
    pub path: AgentPath,
    /// The waiting call, in a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    #[serde(flatten)]
    pub body: QuestionBody,
}

/// The content of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum QuestionBody {
    /// May this call run?
    Approval {
        tool: String,
        arguments: Value,
        why: String,
        risk: Risk,
        /// An approval is bound to these arguments.
        seen: ArgumentsHash,
    },
    Question {
        question: String,
        /// Empty if any answer is allowed.
        options: Vec<String>,
    },
    /// Should this plan be followed?
    Plan { title: Option<String>, plan: String },
    /// What was the outcome of this call? It had started when its worker died.
    Unknown { tool: String, arguments: Value },
}

/// An answer as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "given", rename_all = "snake_case")]
pub(crate) enum StoredAnswer {
    /// A decision on a call.
    Decision { decision: Decision },
    /// An answer to an agent.
    Answer { answer: Answer },
    /// An answer to the step itself.
    Text { text: String },
    /// The step must not continue.
    Refused { reason: String },
}

/// The name of the question that the step itself asks.
pub(super) const STEP_QUESTION: &str = "answer";
/// The name under which an event is answered.
pub(super) const EVENT_QUESTION: &str = "event";
/// The name of the question about an unknown outcome.
pub(super) const UNKNOWN_OUTCOME: &str = "outcome";

/// Returns the key of a question, unique for each attempt and round of a task.
pub(super) fn question_key(part: &ItemProgress, name: &str) -> String {
    format!("{}.{}:{name}", part.round, part.attempt)
}

impl OpenQuestion {
    /// Creates a question of a turn.
    pub(super) fn from_turn(part: &ItemProgress, path: AgentPath, question: Question) -> Self {
        let Question { call, kind } = question;
        let name: Vec<&str> = path.iter().chain([&call.id]).map(|id| &*id.0).collect();
        let key = question_key(part, &name.join("/"));
        let body = match kind {
            QuestionKind::Approval { why, risk, arguments: seen } => {
                let why = GateDecision::Ask(why).to_string();
                QuestionBody::Approval {
                    tool: call.name,
                    arguments: call.arguments.into(),
                    why,
                    risk,
                    seen,
                }
            }
            QuestionKind::Ask(UserQuestion::Question { question, options }) => {
                QuestionBody::Question { question, options }
            }
            QuestionKind::Ask(UserQuestion::Plan { title, plan }) => {
                QuestionBody::Plan { title, plan }
            }
        };
        Self { key, path, call: Some(call.id), body }
    }

    /// Creates a question of the step itself.
    pub(super) fn from_step(part: &ItemProgress, question: String, options: Vec<String>) -> Self {
        let body = QuestionBody::Question { question, options };
        Self { key: question_key(part, STEP_QUESTION), path: AgentPath::new(), call: None, body }
    }

    /// Creates a question about an unknown outcome.
    pub(super) fn unknown_outcome(part: &ItemProgress, tool: String, arguments: Value) -> Self {
        let body = QuestionBody::Unknown { tool, arguments };
        Self { key: question_key(part, UNKNOWN_OUTCOME), path: AgentPath::new(), call: None, body }
    }
}
