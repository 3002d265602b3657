//! What a workflow is: its steps, what each waits for, and what it does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::form::Form;
use super::template::BadTemplate;
use super::{EventName, Reference, StepName, Task, Template, Values};
use crate::graph::way;
use crate::tool::ToolName;

/// The most steps of a workflow.
pub const MOST_STEPS: usize = 200;
/// The most parts of a list that a step is done for.
pub const MOST_PARTS: usize = 1000;
/// The most rounds of a step that is repeated.
pub const MOST_ROUNDS: u32 = 100;
/// The most times that a step is tried again.
pub const MOST_RETRIES: u32 = 10;

/// A workflow. What is read is checked: every step it waits for is there, none
/// waits for itself, and every hole of a text can be filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct Definition {
    pub(super) name: String,
    pub(super) agent: Option<String>,
    pub(super) inputs: BTreeSet<String>,
    pub(super) steps: Vec<Step>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub id: StepName,
    /// The steps it waits for.
    pub after: BTreeSet<StepName>,
    /// It is skipped unless this holds.
    pub when: Option<Condition>,
    /// What is done.
    pub work: Work,
    /// It is done once for each part of a list.
    pub each: Option<Each>,
    /// It is done again and again.
    pub repeat: Option<Repeat>,
    /// How often it is tried again when it fails.
    pub retries: u32,
    /// How long it may take. For a turn that is the time it works, for an answer
    /// or an event the time it waits.
    pub timeout: Option<Duration>,
    /// What takes its effect back.
    pub undo: Option<Work>,
}

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

/// Why a text is no workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDefinition {
    /// It has no name, or a very long one.
    #[error("a workflow has a name of 1 to 100 characters")]
    Name,
    /// It has no steps, or too many.
    #[error("a workflow has 1 to {MOST_STEPS} steps; this one has {0}")]
    Steps(usize),
    /// Two steps have the same name.
    #[error("there are two steps named `{0}`; give one of them another name")]
    Twice(StepName),
    /// A step does not say what is done.
    #[error("`{0}` needs exactly one of prompt, tool, ask, wait and value")]
    Work(String),
    /// A step says something that has no meaning for what it does.
    #[error("`{step}` cannot have `{what}`: {why}")]
    Misplaced {
        /// The step.
        step: StepName,
        /// What it says.
        what: &'static str,
        /// Why that means nothing.
        why: &'static str,
    },
    /// A step waits for one that is not there.
    #[error("`{step}` comes after `{missing}`, which is not there")]
    Missing {
        /// The step.
        step: StepName,
        /// What it waits for.
        missing: StepName,
    },
    /// Steps wait for each other.
    #[error("these steps wait for each other, so that none can begin: {}", circle(.0))]
    Cycle(Vec<StepName>),
    /// A condition does not say what it looks for.
    #[error("a condition of `{0}` needs exactly one of equals, not_equals, contains and exists")]
    Condition(String),
    /// A text has a bad hole.
    #[error("`{step}`: {why}")]
    Template {
        /// The step.
        step: StepName,
        /// What is wrong.
        why: BadTemplate,
    },
    /// A text uses what is not there yet.
    #[error("`{step}` uses the result of `{of}` and does not come after it; add it to `after`")]
    TooEarly {
        /// The step.
        step: StepName,
        /// Whose result.
        of: StepName,
    },
    /// A text uses an input that the workflow does not have.
    #[error("`{step}` uses input.{name}; add `{name}` to the workflow's `inputs`")]
    Input {
        /// The step.
        step: StepName,
        /// The input.
        name: String,
    },
    /// A text uses what only other steps have.
    #[error("`{step}` uses `{what}`, which only a step with `{with}` has")]
    NoSuchHole {
        /// The step.
        step: StepName,
        /// What it uses.
        what: &'static str,
        /// Who has that.
        with: &'static str,
    },
    /// A number is out of bounds.
    #[error("`{what}` of `{step}` is 1 to {most}")]
    Bounds {
        /// The step.
        step: StepName,
        /// Which number.
        what: &'static str,
        /// The most.
        most: u64,
    },
}

fn circle(steps: &[StepName]) -> String {
    let names: Vec<&str> = steps.iter().map(StepName::as_str).collect();
    names.join(" after ")
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
    fn templates(&self) -> Vec<&Template> {
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

impl Definition {
    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who works on steps that name nobody, by slug.
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// What it is started with.
    pub const fn inputs(&self) -> &BTreeSet<String> {
        &self.inputs
    }

    /// Its steps, as they were written.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// A step.
    pub fn step(&self, id: &StepName) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// What is done for a task.
    pub fn work(&self, task: &Task) -> Option<&Work> {
        let step = self.step(&task.step)?;
        if task.undo { step.undo.as_ref() } else { Some(&step.work) }
    }

    /// Everything that can be wrong with steps that can be read one by one.
    pub(super) fn checked(self) -> Result<Self, BadDefinition> {
        if self.name.trim().is_empty() || self.name.chars().count() > 100 {
            return Err(BadDefinition::Name);
        }
        if !(1..=MOST_STEPS).contains(&self.steps.len()) {
            return Err(BadDefinition::Steps(self.steps.len()));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = self.steps.iter().find(|step| !seen.insert(&step.id)) {
            return Err(BadDefinition::Twice(twice.id.clone()));
        }
        for step in &self.steps {
            if let Some(missing) = step.after.iter().find(|id| !seen.contains(id)) {
                let (step, missing) = (step.id.clone(), missing.clone());
                return Err(BadDefinition::Missing { step, missing });
            }
        }
        self.check_order()?;
        self.steps.iter().try_for_each(|step| self.check_holes(step))?;
        Ok(self)
    }

    fn before<'a>(&'a self, id: &'a StepName) -> impl Iterator<Item = &'a StepName> {
        self.step(id).into_iter().flat_map(|step| &step.after)
    }

    /// No step waits for itself, by whatever way.
    fn check_order(&self) -> Result<(), BadDefinition> {
        for step in &self.steps {
            for first in &step.after {
                if let Some(found) = way(first, &step.id, |at| self.before(at)) {
                    let circle = std::iter::once(&step.id).chain(found);
                    return Err(BadDefinition::Cycle(circle.cloned().collect()));
                }
            }
        }
        Ok(())
    }

    fn comes_after(&self, step: &Step, other: &StepName) -> bool {
        step.after.iter().any(|first| way(first, other, |at| self.before(at)).is_some())
    }

    fn check_holes(&self, step: &Step) -> Result<(), BadDefinition> {
        let mut doing = step.work.templates();
        doing.extend(step.repeat.iter().map(|repeat| &repeat.until.value));
        for reference in doing.iter().flat_map(|text| text.references()) {
            self.check_hole(step, reference)?;
            match reference {
                Reference::Item { .. } if step.each.is_none() => {
                    return Err(no_such(step, "item", "for_each"));
                }
                Reference::Index if step.each.is_none() => {
                    return Err(no_such(step, "index", "for_each"));
                }
                Reference::Last { .. } if step.repeat.is_none() => {
                    return Err(no_such(step, "last", "repeat"));
                }
                _ => {}
            }
        }
        let deciding = step.when.iter().map(|when| &when.value);
        let deciding = deciding.chain(step.each.iter().map(|each| &each.list));
        for reference in deciding.flat_map(Template::references) {
            self.check_outer_hole(step, reference)?;
        }
        for reference in step.undo.iter().flat_map(Work::templates).flat_map(Template::references) {
            let own = matches!(reference, Reference::Result { step: of, .. } if *of == step.id);
            if !own {
                self.check_outer_hole(step, reference)?;
            }
        }
        Ok(())
    }

    /// A hole of a text that belongs to no part of a list and to no round.
    fn check_outer_hole(&self, step: &Step, reference: &Reference) -> Result<(), BadDefinition> {
        match reference {
            Reference::Item { .. } | Reference::Index => Err(no_such(step, "item", "for_each")),
            Reference::Last { .. } => Err(no_such(step, "last", "repeat")),
            other => self.check_hole(step, other),
        }
    }

    fn check_hole(&self, step: &Step, reference: &Reference) -> Result<(), BadDefinition> {
        match reference {
            Reference::Input { path } => match path.first() {
                Some(name) if !self.inputs.contains(name) => {
                    Err(BadDefinition::Input { step: step.id.clone(), name: name.clone() })
                }
                _ => Ok(()),
            },
            Reference::Result { step: of, .. } if !self.comes_after(step, of) => {
                Err(BadDefinition::TooEarly { step: step.id.clone(), of: of.clone() })
            }
            _ => Ok(()),
        }
    }
}

fn no_such(step: &Step, what: &'static str, with: &'static str) -> BadDefinition {
    BadDefinition::NoSuchHole { step: step.id.clone(), what, with }
}
