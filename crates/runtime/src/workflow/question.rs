//! What steps wait for people with, and what people answered.

use ostler_domain::gate::Verdict;
use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::tool::Risk;
use ostler_domain::workflow::Part;
use ostler_engine::history::CallId;
use ostler_engine::tool::Ask;
use ostler_engine::turn::{Answer, Decision, Path, Question, QuestionKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The name that an answer is given under.
    pub key: String,
    /// The agent inside the turn that asks; empty is the step's own.
    #[serde(default, skip_serializing_if = "Path::is_empty")]
    pub path: Path,
    /// The call that waits, in a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// What is asked.
    #[serde(flatten)]
    pub asked: Asked,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum Asked {
    /// Whether a call may run.
    Approval {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// Why it asks.
        why: String,
        /// How bad a wrong call would be.
        risk: Risk,
        /// What an approval is bound to.
        seen: ArgumentsHash,
    },
    /// Anything.
    Question {
        /// The question.
        question: String,
        /// Answers to choose from; empty if anything goes.
        options: Vec<String>,
    },
    /// Whether a plan is to be followed.
    Plan {
        /// Its title.
        title: Option<String>,
        /// The plan.
        plan: String,
    },
    /// What became of a call that had begun when its worker died.
    Unknown {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
}

/// What a person answered, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "given", rename_all = "snake_case")]
pub(crate) enum Given {
    /// A decision on a call.
    Decision {
        /// What was decided.
        decision: Decision,
    },
    /// An answer to what an agent asked.
    Answer {
        /// The answer.
        answer: Answer,
    },
    /// An answer to what the step itself asked.
    Text {
        /// The answer.
        text: String,
    },
    /// The step is not to be gone on with.
    Refused {
        /// Why.
        reason: String,
    },
}

/// How a question of the step itself is known.
pub(super) const OWN: &str = "answer";
/// How an event is known.
pub(super) const EVENT: &str = "event";
/// How the question is known what became of a call.
pub(super) const OUTCOME: &str = "outcome";

/// The name of a question, which no other try and no other round of a task has.
pub(super) fn key(part: &Part, name: &str) -> String {
    format!("{}.{}:{name}", part.round, part.attempt)
}

impl OpenQuestion {
    /// A question of a turn.
    pub(super) fn of_turn(part: &Part, path: Path, question: Question) -> Self {
        let Question { call, kind } = question;
        let name: Vec<&str> = path.iter().chain([&call.id]).map(|id| &*id.0).collect();
        let key = key(part, &name.join("/"));
        let asked = match kind {
            QuestionKind::Approval { why, risk, arguments: seen } => {
                let why = Verdict::Ask(why).to_string();
                Asked::Approval { tool: call.name, arguments: call.arguments, why, risk, seen }
            }
            QuestionKind::Ask(Ask::Question { question, options }) => {
                Asked::Question { question, options }
            }
            QuestionKind::Ask(Ask::Plan { title, plan }) => Asked::Plan { title, plan },
        };
        Self { key, path, call: Some(call.id), asked }
    }

    /// A question of the step itself.
    pub(super) fn of_step(part: &Part, question: String, options: Vec<String>) -> Self {
        let asked = Asked::Question { question, options };
        Self { key: key(part, OWN), path: Path::new(), call: None, asked }
    }

    /// What became of a call.
    pub(super) fn of_outcome(part: &Part, tool: String, arguments: Value) -> Self {
        let asked = Asked::Unknown { tool, arguments };
        Self { key: key(part, OUTCOME), path: Path::new(), call: None, asked }
    }
}
