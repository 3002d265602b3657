//! Questions that wait for a person.

use ostler_api::thread_event::AlwaysProposal;
use serde_json::Value;

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    pub(crate) id: String,
    pub(crate) kind: AskKind,
    /// The subagents that lead to the question.
    pub(crate) path: Vec<String>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AskKind {
    Approval {
        tool: String,
        args: Value,
        why: String,
        risk: String,
        always: Option<Box<AlwaysProposal>>,
    },
    Question {
        question: String,
        options: Vec<String>,
    },
    Plan {
        title: Option<String>,
        plan: String,
    },
}
