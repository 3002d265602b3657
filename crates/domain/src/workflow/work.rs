//! The work of a step, and how often it runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Condition, EventName, Template};
use crate::tool::ToolName;

/// The work of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepWork {
    /// An agent runs a turn.
    Agent {
        /// Slug of the agent; the workflow's default if `None`.
        agent: Option<String>,
        prompt: Template,
    },
    /// An agent calls a tool, through the gate.
    Tool {
        /// Slug of the agent; the workflow's default if `None`.
        agent: Option<String>,
        tool: ToolName,
        with: BTreeMap<String, Argument>,
    },
    /// Another workflow that the organization keeps runs as a child; its result is that of the
    /// child.
    Workflow {
        workflow: String,
        /// The inputs of the child.
        with: BTreeMap<String, Argument>,
    },
    /// A person answers a question.
    Ask {
        question: Template,
        /// The answers to choose from; empty if any text is allowed.
        options: Vec<String>,
    },
    Wait {
        event: EventName,
    },
    /// Renders a text.
    Value {
        text: Template,
    },
}

/// An argument of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    Flag(bool),
    Number(i64),
    /// A text. If it is a single expression, the value keeps its JSON type.
    Text(Template),
    List(Vec<Argument>),
    Table(BTreeMap<String, Argument>),
}

/// Runs a step once for each item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForEach {
    /// A list, or a JSON text of one.
    pub list: Template,
    /// How many items run at once.
    pub concurrency: u32,
}

/// Runs a step repeatedly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepeatPolicy {
    /// Maximum number of rounds. The result of the last round is the result of the step.
    #[serde(rename = "max")]
    pub max_rounds: u32,
    /// The step is repeated until this expression holds.
    #[schemars(with = "String")]
    pub until: Condition,
}

impl Argument {
    fn templates<'a>(&'a self, all: &mut Vec<&'a Template>) {
        match self {
            Self::Flag(_) | Self::Number(_) => {}
            Self::Text(text) => all.push(text),
            Self::List(list) => list.iter().for_each(|item| item.templates(all)),
            Self::Table(table) => table.values().for_each(|item| item.templates(all)),
        }
    }
}

impl StepWork {
    /// Returns all templates of the work.
    pub fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Agent { prompt, .. } => vec![prompt],
            Self::Tool { with, .. } | Self::Workflow { with, .. } => {
                let mut all = Vec::new();
                with.values().for_each(|argument| argument.templates(&mut all));
                all
            }
            Self::Ask { question, .. } => vec![question],
            Self::Wait { .. } => Vec::new(),
            Self::Value { text } => vec![text],
        }
    }
}
