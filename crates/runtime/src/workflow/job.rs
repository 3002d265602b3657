//! A task with everything needed to run it.

use std::time::Duration;

use ostler_domain::tool::Trust;
use ostler_domain::workflow::{EventName, ItemProgress, StepWork, Task};
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
    /// The name of the workflow.
    pub(super) workflow: String,
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
            workflow: definition.name().to_owned(),
            part,
            task: task.clone(),
        })
    }
}

impl StepAction {
    /// Evaluates the templates of a task's work, or returns why that fails.
    fn new(instance: &WorkflowInstance, task: &Task, work: &StepWork) -> Result<Self, String> {
        let definition = &instance.definition;
        let context = instance.data.view(definition).context(task)?;
        let agent_or_default = |agent: &Option<String>| {
            agent.clone().or_else(|| definition.agent().map(str::to_owned))
        };
        Ok(match work {
            StepWork::Agent { agent, prompt } => Self::Prompt {
                agent: agent_or_default(agent),
                prompt: template::render(prompt, &context)?,
            },
            StepWork::Tool { agent, tool, with } => {
                let arguments = with.iter().map(|(name, argument)| {
                    Ok((name.clone(), template::argument(argument, &context)?))
                });
                Self::Call {
                    agent: agent_or_default(agent),
                    tool: tool.as_str().to_owned(),
                    arguments: Value::Object(arguments.collect::<Result<_, String>>()?),
                }
            }
            StepWork::Ask { question, options } => Self::Ask {
                question: template::render(question, &context)?,
                options: options.clone(),
            },
            StepWork::Wait { event } => Self::Wait { event: event.clone() },
            StepWork::Value { text } => Self::Value { text: template::render(text, &context)? },
        })
    }
}
