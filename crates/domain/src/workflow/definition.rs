//! Workflow definitions: steps, their order, and the work of each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::syntax::WorkflowSyntax;
use super::work::{ForEach, RepeatPolicy, StepWork};
use super::{Condition, DefinitionError, InputMismatch, StepName, Task};
use crate::graph::shortest_path;

/// Maximum number of definitions that an organization keeps.
pub const MAX_DEFINITIONS: usize = 500;
/// How deep workflows start each other, at most.
pub const MAX_DEPTH: usize = 8;
/// Maximum number of steps of a workflow.
pub const MAX_STEPS: usize = 200;
/// Maximum number of items in the list of a step.
pub const MAX_ITEMS: usize = 1000;
/// Maximum number of rounds of a repeated step.
pub const MAX_ROUNDS: u32 = 100;
/// Maximum number of retries of a step.
pub const MAX_RETRIES: u32 = 10;

/// A workflow with a valid structure: every step in `after` exists and no step waits for
/// itself. Its templates and conditions are checked by the runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "WorkflowSyntax", into = "WorkflowSyntax")]
#[schemars(with = "WorkflowSyntax")]
pub struct WorkflowDefinition {
    pub(super) name: String,
    pub(super) agent: Option<String>,
    pub(super) inputs: BTreeSet<String>,
    pub(super) steps: Vec<Step>,
}

/// A step of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub id: StepName,
    /// The steps that must be done or skipped first.
    pub after: BTreeSet<StepName>,
    /// The step is skipped unless this holds.
    pub when: Option<Condition>,
    pub work: StepWork,
    /// Runs the step once for each item of a list.
    pub each: Option<ForEach>,
    /// Runs the step repeatedly.
    pub repeat: Option<RepeatPolicy>,
    /// How often it is retried after a failure.
    pub retries: u32,
    /// Limits the working time of an agent or tool step, and the waiting time of a
    /// question or an event.
    pub timeout: Option<Duration>,
    /// The work that undoes the step.
    pub undo: Option<StepWork>,
}

impl WorkflowDefinition {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the slug of the default agent of the steps.
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns the names of the inputs.
    pub const fn inputs(&self) -> &BTreeSet<String> {
        &self.inputs
    }

    /// Checks that the named inputs are those that a start needs.
    pub fn check_input<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), InputMismatch> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        if let Some(missing) = self.inputs.iter().find(|name| !names.contains(name.as_str())) {
            return Err(InputMismatch::Missing(missing.clone()));
        }
        match names.into_iter().find(|name| !self.inputs.contains(*name)) {
            Some(unknown) => Err(InputMismatch::Unknown(unknown.to_owned())),
            None => Ok(()),
        }
    }

    /// Returns the steps in the order of the file.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns a step.
    pub fn step(&self, id: &StepName) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// Returns the steps that no other step comes after. Their results are the result of the
    /// workflow.
    pub fn final_steps(&self) -> impl Iterator<Item = &StepName> {
        let before: BTreeSet<&StepName> = self.steps.iter().flat_map(|step| &step.after).collect();
        self.steps.iter().map(|step| &step.id).filter(move |id| !before.contains(id))
    }

    /// Returns the names of the workflows that its steps start.
    pub fn started_workflows(&self) -> impl Iterator<Item = (&StepName, &str)> {
        let works = self.steps.iter().flat_map(|step| {
            std::iter::once(&step.work).chain(&step.undo).map(|work| (&step.id, work))
        });
        works.filter_map(|(id, work)| match work {
            StepWork::Workflow { workflow, .. } => Some((id, workflow.as_str())),
            _ => None,
        })
    }

    /// Returns the work of a task.
    pub fn work(&self, task: &Task) -> Option<&StepWork> {
        let step = self.step(&task.step)?;
        if task.undo { step.undo.as_ref() } else { Some(&step.work) }
    }

    /// Checks everything that concerns more than one step.
    pub(super) fn validate(self) -> Result<Self, DefinitionError> {
        if self.name.trim().is_empty() || self.name.chars().count() > 100 {
            return Err(DefinitionError::Name);
        }
        if !(1..=MAX_STEPS).contains(&self.steps.len()) {
            return Err(DefinitionError::Steps(self.steps.len()));
        }
        let mut seen = BTreeSet::new();
        if let Some(duplicate) = self.steps.iter().find(|step| !seen.insert(&step.id)) {
            return Err(DefinitionError::DuplicateStep(duplicate.id.clone()));
        }
        for step in &self.steps {
            if let Some(missing) = step.after.iter().find(|id| !seen.contains(id)) {
                let (step, missing) = (step.id.clone(), missing.clone());
                return Err(DefinitionError::UnknownStep { step, missing });
            }
        }
        self.check_order()?;
        Ok(self)
    }

    /// Returns all steps that end before a step starts, also indirectly.
    pub fn predecessors<'a>(&'a self, id: &'a StepName) -> BTreeSet<&'a StepName> {
        let by_name: BTreeMap<&StepName, &Step> =
            self.steps.iter().map(|step| (&step.id, step)).collect();
        let (mut found, mut open) = (BTreeSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            let before = by_name.get(id).into_iter().flat_map(|step| &step.after);
            open.extend(before.filter(|before| found.insert(*before)));
        }
        found
    }

    fn direct_predecessors<'a>(&'a self, id: &'a StepName) -> impl Iterator<Item = &'a StepName> {
        self.step(id).into_iter().flat_map(|step| &step.after)
    }

    /// Fails if a step waits for itself, directly or not.
    fn check_order(&self) -> Result<(), DefinitionError> {
        for step in &self.steps {
            for first in &step.after {
                if let Some(found) =
                    shortest_path(first, &step.id, |at| self.direct_predecessors(at))
                {
                    let cycle = std::iter::once(&step.id).chain(found);
                    return Err(DefinitionError::Cycle(cycle.cloned().collect()));
                }
            }
        }
        Ok(())
    }
}
