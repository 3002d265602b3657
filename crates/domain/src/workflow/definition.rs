//! What a workflow is: its steps, what each waits for, and what it does.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::form::Form;
use super::work::{Condition, Each, Repeat, Work};
use super::{BadDefinition, Reference, StepName, Task, Template};
use crate::graph::way;

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
