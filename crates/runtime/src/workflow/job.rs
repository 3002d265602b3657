//! Something to do for a task, with all that it takes from what is known.

use std::time::Duration;

use ostler_domain::tool::Trust;
use ostler_domain::workflow::{EventName, Part, Task, Work};
use serde_json::Value;

use super::instance::Instance;
use super::saved::Saved;

/// Something to do.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) task: Task,
    pub(super) part: Part,
    pub(super) todo: Todo,
    /// How long it may take.
    pub(super) timeout: Option<Duration>,
    /// The turn that was begun.
    pub(super) saved: Option<Saved>,
    /// Answers that came: the question and what was answered.
    pub(super) answers: Vec<(String, String)>,
    /// Whether anything that it is made of is from outside.
    pub(super) trust: Trust,
    /// What the workflow has cost so far.
    pub(super) spent: u64,
    /// What the workflow is called.
    pub(super) workflow: String,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Todo {
    Prompt { agent: Option<String>, prompt: String },
    Call { agent: Option<String>, tool: String, arguments: Value },
    Ask { question: String, options: Vec<String> },
    Wait { event: EventName },
    Value { text: String },
}

impl Job {
    /// What a task is, as things stand.
    pub(super) fn of(instance: &Instance, task: &Task) -> Option<Self> {
        let definition = &instance.definition;
        let part = instance.progress.part(task)?.clone();
        let look = instance.known.of(definition);
        let by = |agent: &Option<String>| {
            agent.clone().or_else(|| definition.agent().map(str::to_owned))
        };
        let todo = match definition.work(task)? {
            Work::Agent { agent, prompt } => {
                Todo::Prompt { agent: by(agent), prompt: prompt.fill(&look, task) }
            }
            Work::Tool { agent, tool, with } => {
                let arguments =
                    with.iter().map(|(name, one)| (name.clone(), look.argument(one, task)));
                Todo::Call {
                    agent: by(agent),
                    tool: tool.as_str().to_owned(),
                    arguments: Value::Object(arguments.collect()),
                }
            }
            Work::Ask { question, options } => {
                Todo::Ask { question: question.fill(&look, task), options: options.clone() }
            }
            Work::Wait { event } => Todo::Wait { event: event.clone() },
            Work::Value { text } => Todo::Value { text: text.fill(&look, task) },
        };
        Some(Self {
            todo,
            timeout: definition.step(&task.step)?.timeout,
            saved: instance.saved.get(task).cloned(),
            answers: instance.answers_to(task),
            trust: instance.known.trust(),
            spent: instance.spent,
            workflow: definition.name().to_owned(),
            part,
            task: task.clone(),
        })
    }
}
