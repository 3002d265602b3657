//! What a step does: the work itself, how often, and under which condition.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EventName, Task, Template, Values};
use crate::tool::ToolName;

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// An agent answers.
    Agent {
        /// Which one, by its slug; the workflow's if none is named.
        agent: Option<String>,
        /// What it is asked.
        prompt: Template,
    },
    /// A tool is called, through the gate, as an agent.
    Tool {
        /// Which agent calls it; the workflow's if none is named.
        agent: Option<String>,
        /// The tool.
        tool: ToolName,
        /// Its arguments.
        with: BTreeMap<String, Argument>,
    },
    /// A person answers.
    Ask {
        /// What they are asked.
        question: Template,
        /// Answers to choose from; empty if anything goes.
        options: Vec<String>,
    },
    /// Something happens.
    Wait {
        /// What.
        event: EventName,
    },
    /// A text is made of what there is.
    Value {
        /// The text.
        text: Template,
    },
}

/// An argument of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// A text. One that is nothing but a hole takes the value as it is.
    Text(Template),
    /// Several.
    List(Vec<Argument>),
    /// Several by name.
    Table(BTreeMap<String, Argument>),
}

/// Something that holds or does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What is looked at.
    pub value: Template,
    /// What is to be true of it.
    pub test: Test,
}

/// What is to be true of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// It is this, but for the space around it.
    Equals(String),
    /// It is not.
    Differs(String),
    /// This is in it, in capitals or not.
    Contains(String),
    /// It is not empty, or it is.
    Exists(bool),
}

/// A step that is done once for each part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Each {
    /// The list, as JSON.
    pub list: Template,
    /// How many parts are in work at once.
    pub at_once: u32,
}

/// A step that is done again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// How often at most. What the last round came to is the result.
    pub most: u32,
    /// Until this holds.
    pub until: Condition,
}

impl Condition {
    /// Whether it holds for a task.
    pub fn holds(&self, values: &impl Values, task: &Task) -> bool {
        let found = self.value.fill(values, task);
        let found = found.trim();
        match &self.test {
            Test::Equals(wanted) => found == wanted.trim(),
            Test::Differs(wanted) => found != wanted.trim(),
            Test::Contains(wanted) => found.to_lowercase().contains(&wanted.trim().to_lowercase()),
            Test::Exists(wanted) => found.is_empty() != *wanted,
        }
    }
}

impl Argument {
    fn templates<'a>(&'a self, all: &mut Vec<&'a Template>) {
        match self {
            Self::Flag(_) | Self::Number(_) => {}
            Self::Text(text) => all.push(text),
            Self::List(list) => list.iter().for_each(|one| one.templates(all)),
            Self::Table(table) => table.values().for_each(|one| one.templates(all)),
        }
    }
}

impl Work {
    pub(super) fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Agent { prompt, .. } => vec![prompt],
            Self::Tool { with, .. } => {
                let mut all = Vec::new();
                with.values().for_each(|one| one.templates(&mut all));
                all
            }
            Self::Ask { question, .. } => vec![question],
            Self::Wait { .. } => Vec::new(),
            Self::Value { text } => vec![text],
        }
    }
}
