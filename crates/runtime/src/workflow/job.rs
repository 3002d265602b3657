//! A task with everything needed to run it.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_domain::tool::Trust;
use ostler_domain::workflow::{Argument, EventName, ItemProgress, StepWork, Task, Template};
use serde_json::Value;

use super::checkpoint::StepCheckpoint;
use super::instance::WorkflowInstance;
use super::template;

/// A task with everything needed to run it.
#[derive(Debug)]
pub(super) struct StepJob {
    pub(super) task: Task,
    pub(super) part: ItemProgress,
    pub(super) action: StepAction,
    pub(super) timeout: Option<Duration>,
    /// The turn so far.
    pub(super) checkpoint: Option<StepCheckpoint>,
    /// Question keys and stored answers.
    pub(super) answers: Vec<(String, String)>,
    /// Whether any of its inputs is untrusted.
    pub(super) trust: Trust,
    /// What the workflow has cost so far, in credits.
    pub(super) spent: u64,
    /// Whether other workflows spend of the same budget: one that has started this one, or
    /// those that it starts.
    pub(super) shares_budget: bool,
    /// The name of the workflow.
    pub(super) workflow: String,
    /// The names of the workflows above and of this one.
    pub(super) ancestors: Vec<String>,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum StepAction {
    Prompt {
        agent: Option<String>,
        prompt: String,
    },
    Call {
        agent: Option<String>,
        tool: String,
        arguments: Value,
    },
    Workflow {
        name: String,
        input: Value,
    },
    Ask {
        question: String,
        options: Vec<String>,
    },
    Wait {
        event: EventName,
    },
    Value {
        text: String,
    },
    /// A template of the step cannot be evaluated.
    Invalid {
        reason: String,
    },
}

impl StepJob {
    /// Prepares a task with the current values. Returns `None` if the task is
    /// not in the definition.
    pub(super) fn new(instance: &WorkflowInstance, task: &Task) -> Option<Self> {
        let definition = &instance.definition;
        let part = instance.progress.item(task)?.clone();
        let action = StepAction::new(instance, task, definition.work(task)?)
            .unwrap_or_else(|reason| StepAction::Invalid { reason });
        Some(Self {
            action,
            timeout: definition.step(&task.step)?.timeout,
            checkpoint: instance.checkpoints.get(task).cloned(),
            answers: instance.answers_to(task),
            trust: instance.data.trust(),
            spent: instance.spent,
            shares_budget: instance.has_parent || definition.started_workflows().next().is_some(),
            workflow: definition.name().to_owned(),
            ancestors: instance.lineage.clone(),
            part,
            task: task.clone(),
        })
    }
}

impl StepAction {
    /// Evaluates the templates of a task's work, or returns why that fails.
    fn new(instance: &WorkflowInstance, task: &Task, work: &StepWork) -> Result<Self, String> {
        let definition = &instance.definition;
        let texts: Vec<&str> = work.templates().into_iter().map(Template::as_str).collect();
        let context = instance.data.view(definition).context(task, &texts)?;
        let agent_or_default = |agent: &Option<String>| {
            agent.clone().or_else(|| definition.agent().map(str::to_owned))
        };
        Ok(match work {
            StepWork::Agent { agent, prompt } => Self::Prompt {
                agent: agent_or_default(agent),
                prompt: template::render(prompt, &context)?,
            },
            StepWork::Tool { agent, tool, with } => Self::Call {
                agent: agent_or_default(agent),
                tool: tool.as_str().to_owned(),
                arguments: evaluate_arguments(with, &context)?,
            },
            StepWork::Workflow { workflow, with } => Self::Workflow {
                name: workflow.clone(),
                input: evaluate_arguments(with, &context)?,
            },
            StepWork::Ask { question, options } => Self::Ask {
                question: template::render(question, &context)?,
                options: options.clone(),
            },
            StepWork::Wait { event } => Self::Wait { event: event.clone() },
            StepWork::Value { text } => Self::Value { text: template::render(text, &context)? },
        })
    }
}

fn evaluate_arguments(
    arguments: &BTreeMap<String, Argument>,
    context: &minijinja::Value,
) -> Result<Value, String> {
    let evaluated = arguments
        .iter()
        .map(|(name, argument)| Ok((name.clone(), template::argument(argument, context)?)));
    Ok(Value::Object(evaluated.collect::<Result<_, String>>()?))
}
