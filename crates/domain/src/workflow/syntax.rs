//! The serialized syntax of a workflow. Checks each step on its own; checks across
//! steps are in [`WorkflowDefinition`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definition::{MAX_ITEMS, MAX_RETRIES, MAX_ROUNDS, Step, WorkflowDefinition};
use super::work::{Argument, ForEach, RepeatPolicy, StepWork};
use super::{Condition, DefinitionError, EventName, StepName, Template};
use crate::tool::ToolName;

/// Default number of list items that run at once.
const DEFAULT_CONCURRENCY: u32 = 4;
/// Maximum timeout in seconds.
const MAX_TIMEOUT_SECS: u64 = 366 * 24 * 3600;

/// A durable graph of steps; see docs/WORKFLOWS.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowSyntax {
    /// Its name.
    name: String,
    /// The agent of the steps that name none, by slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The inputs that each start gives.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    inputs: BTreeSet<String>,
    /// The steps.
    #[serde(rename = "step", default)]
    steps: Vec<StepSyntax>,
}

/// The work of a step or of its undo.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WorkflowStepWork")]
struct WorkSyntax {
    /// What the agent is asked; its answer is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    prompt: Option<Template>,
    /// The agent of the step, by slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The tool that the agent calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    tool: Option<ToolName>,
    /// A workflow of the organization that runs as a child; its result is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    /// The arguments of the call, or the inputs of the child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    with: Option<BTreeMap<String, Argument>>,
    /// The question to a person; the answer is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    ask: Option<Template>,
    /// The answers to choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    options: Option<Vec<String>>,
    /// The event that the step waits for; its payload is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    wait: Option<EventName>,
    /// A text, which is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    value: Option<Template>,
}

/// A step of a workflow.
//
// The fields of [`WorkSyntax`] are repeated instead of flattened, because `flatten` would
// accept misspelt fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WorkflowStep")]
struct StepSyntax {
    /// The name of the step.
    #[schemars(with = "String")]
    id: StepName,
    /// The steps that end first.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(with = "BTreeSet<String>")]
    after: BTreeSet<StepName>,
    /// The step is skipped unless this expression holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    when: Option<Condition>,
    /// What the agent is asked; its answer is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    prompt: Option<Template>,
    /// The agent of the step, by slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The tool that the agent calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    tool: Option<ToolName>,
    /// A workflow of the organization that runs as a child; its result is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    /// The arguments of the call, or the inputs of the child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    with: Option<BTreeMap<String, Argument>>,
    /// The question to a person; the answer is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    ask: Option<Template>,
    /// The answers to choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    options: Option<Vec<String>>,
    /// The event that the step waits for; its payload is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    wait: Option<EventName>,
    /// A text, which is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    value: Option<Template>,
    /// Runs the step for each item of this list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    for_each: Option<Template>,
    /// How many items run at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concurrency: Option<u32>,
    /// Runs the step again until a condition holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat: Option<RepeatPolicy>,
    /// How often it is tried again after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retries: Option<u32>,
    /// Limits how long a turn may take, or an answer or an event is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_secs: Option<u64>,
    /// The work that undoes the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo: Option<WorkSyntax>,
}

impl TryFrom<WorkflowSyntax> for WorkflowDefinition {
    type Error = DefinitionError;

    fn try_from(syntax: WorkflowSyntax) -> Result<Self, DefinitionError> {
        let WorkflowSyntax { name, agent, inputs, steps } = syntax;
        let steps = steps.into_iter().map(StepSyntax::parse).collect::<Result<_, _>>()?;
        Self { name, agent, inputs, steps }.validate()
    }
}

impl StepSyntax {
    fn parse(self) -> Result<Step, DefinitionError> {
        let Self {
            id, after, prompt, agent, tool, workflow, with, ask, options, wait, value, ..
        } = self;
        let work = WorkSyntax { prompt, agent, tool, workflow, with, ask, options, wait, value }
            .parse(&id)?;
        let check_bounds = |what, number: u64, max: u64| {
            if (1..=max).contains(&number) {
                return Ok(());
            }
            Err(DefinitionError::OutOfBounds { step: id.clone(), what, max })
        };
        let each = match self.for_each {
            Some(list) => {
                let concurrency = self.concurrency.unwrap_or(DEFAULT_CONCURRENCY);
                check_bounds("concurrency", concurrency.into(), MAX_ITEMS as u64)?;
                Some(ForEach { list, concurrency })
            }
            None if self.concurrency.is_some() => {
                return Err(misplaced(&id, "concurrency", "it has no for_each"));
            }
            None => None,
        };
        if let Some(repeat) = &self.repeat {
            check_bounds("repeat.max", repeat.max_rounds.into(), MAX_ROUNDS.into())?;
        }
        let retries = self.retries.unwrap_or_default();
        if retries > 0 {
            check_bounds("retries", retries.into(), MAX_RETRIES.into())?;
        }
        if let Some(secs) = self.timeout_secs {
            check_bounds("timeout_secs", secs, MAX_TIMEOUT_SECS)?;
        }
        let undo = self.undo.map(|undo| undo.parse(&id)).transpose()?;
        if undo.is_some() && each.is_some() {
            let reason = "the work for each item of a list is undone by a step of its own";
            return Err(misplaced(&id, "undo", reason));
        }
        if matches!(work, StepWork::Wait { .. }) && (each.is_some() || self.repeat.is_some()) {
            return Err(misplaced(
                &id,
                "wait",
                "a step waits for an event once; remove the list or the repeat",
            ));
        }
        if matches!(work, StepWork::Workflow { .. }) && self.timeout_secs.is_some() {
            let reason = "the steps of the other workflow have timeouts of their own";
            return Err(misplaced(&id, "timeout_secs", reason));
        }
        Ok(Step {
            after,
            when: self.when,
            work,
            each,
            repeat: self.repeat,
            retries,
            timeout: self.timeout_secs.map(Duration::from_secs),
            undo,
            id,
        })
    }
}

impl WorkSyntax {
    fn parse(self, id: &StepName) -> Result<StepWork, DefinitionError> {
        let Self { prompt, agent, tool, workflow, with, ask, options, wait, value } = self;
        if with.is_some() && tool.is_none() && workflow.is_none() {
            return Err(misplaced(id, "with", "only a tool or a workflow has arguments"));
        }
        if options.is_some() && ask.is_none() {
            return Err(misplaced(id, "options", "only a question has them"));
        }
        if agent.is_some() && prompt.is_none() && tool.is_none() {
            return Err(misplaced(id, "agent", "only a prompt or a tool has an agent"));
        }
        Ok(match (prompt, tool, workflow, ask, wait, value) {
            (Some(prompt), None, None, None, None, None) => StepWork::Agent { agent, prompt },
            (None, Some(tool), None, None, None, None) => {
                StepWork::Tool { agent, tool, with: with.unwrap_or_default() }
            }
            (None, None, Some(workflow), None, None, None) => {
                StepWork::Workflow { workflow, with: with.unwrap_or_default() }
            }
            (None, None, None, Some(question), None, None) => {
                StepWork::Ask { question, options: options.unwrap_or_default() }
            }
            (None, None, None, None, Some(event), None) => StepWork::Wait { event },
            (None, None, None, None, None, Some(text)) => StepWork::Value { text },
            _ => return Err(DefinitionError::Work(id.to_string())),
        })
    }

    fn of(work: StepWork) -> Self {
        match work {
            StepWork::Agent { agent, prompt } => {
                Self { agent, prompt: Some(prompt), ..Self::default() }
            }
            StepWork::Tool { agent, tool, with } => {
                Self { agent, tool: Some(tool), with: Some(with), ..Self::default() }
            }
            StepWork::Workflow { workflow, with } => {
                Self { workflow: Some(workflow), with: Some(with), ..Self::default() }
            }
            StepWork::Ask { question, options } => {
                Self { ask: Some(question), options: Some(options), ..Self::default() }
            }
            StepWork::Wait { event } => Self { wait: Some(event), ..Self::default() },
            StepWork::Value { text } => Self { value: Some(text), ..Self::default() },
        }
    }
}

impl From<WorkflowDefinition> for WorkflowSyntax {
    fn from(definition: WorkflowDefinition) -> Self {
        let WorkflowDefinition { name, agent, inputs, steps } = definition;
        Self { name, agent, inputs, steps: steps.into_iter().map(StepSyntax::of).collect() }
    }
}

impl StepSyntax {
    fn of(step: Step) -> Self {
        let WorkSyntax { prompt, agent, tool, workflow, with, ask, options, wait, value } =
            WorkSyntax::of(step.work);
        let (for_each, concurrency) = step.each.map(|each| (each.list, each.concurrency)).unzip();
        Self {
            id: step.id,
            after: step.after,
            when: step.when,
            prompt,
            agent,
            tool,
            workflow,
            with,
            ask,
            options,
            wait,
            value,
            for_each,
            concurrency,
            repeat: step.repeat,
            retries: (step.retries > 0).then_some(step.retries),
            timeout_secs: step.timeout.map(|time| time.as_secs()),
            undo: step.undo.map(WorkSyntax::of),
        }
    }
}

fn misplaced(id: &StepName, what: &'static str, reason: &'static str) -> DefinitionError {
    DefinitionError::Misplaced { step: id.clone(), what, reason }
}
