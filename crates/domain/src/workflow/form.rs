//! How a workflow is written down. What can be wrong with one step alone is
//! found here, what is wrong with the whole in [`Definition`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::definition::{Definition, MOST_PARTS, MOST_RETRIES, MOST_ROUNDS, Step};
use super::template::BadTemplate;
use super::work::{Argument, Condition, Each, Repeat, Test, Work};
use super::{BadDefinition, EventName, StepName, Template};
use crate::tool::ToolName;

/// How many parts of a list are in work at once, unless a step says otherwise.
const AT_ONCE: u32 = 4;
/// The longest time-out.
const MOST_SECS: u64 = 366 * 24 * 3600;

/// A workflow as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    inputs: BTreeSet<String>,
    #[serde(rename = "step", default)]
    steps: Vec<StepForm>,
}

/// What is done, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<ToolName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    with: Option<BTreeMap<String, Argument>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    options: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wait: Option<EventName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

/// A step as it is written. What is done stands beside the rest, so that its
/// fields are named twice: a part that is flattened would let misspelt ones pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepForm {
    id: StepName,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    after: BTreeSet<StepName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<ConditionForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<ToolName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    with: Option<BTreeMap<String, Argument>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    options: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wait: Option<EventName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    for_each: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_once: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat: Option<RepeatForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retries: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_secs: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo: Option<WorkForm>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConditionForm {
    value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    equals: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_equals: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contains: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exists: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RepeatForm {
    most: u32,
    until: ConditionForm,
}

impl TryFrom<Form> for Definition {
    type Error = BadDefinition;

    fn try_from(form: Form) -> Result<Self, BadDefinition> {
        let Form { name, agent, inputs, steps } = form;
        let steps = steps.into_iter().map(StepForm::read).collect::<Result<_, _>>()?;
        Self { name, agent, inputs, steps }.checked()
    }
}

impl StepForm {
    fn read(self) -> Result<Step, BadDefinition> {
        let Self { id, after, prompt, agent, tool, with, ask, options, wait, value, .. } = self;
        let work = WorkForm { prompt, agent, tool, with, ask, options, wait, value }.read(&id)?;
        let bounded = |what, number: u64, most: u64| {
            if (1..=most).contains(&number) {
                return Ok(());
            }
            Err(BadDefinition::Bounds { step: id.clone(), what, most })
        };
        let each = match self.for_each {
            Some(list) => {
                let at_once = self.at_once.unwrap_or(AT_ONCE);
                bounded("at_once", at_once.into(), MOST_PARTS as u64)?;
                Some(Each { list: text(&id, list)?, at_once })
            }
            None if self.at_once.is_some() => {
                return Err(misplaced(&id, "at_once", "it has no for_each"));
            }
            None => None,
        };
        let repeat = match self.repeat {
            Some(RepeatForm { most, until }) => {
                bounded("repeat.most", most.into(), MOST_ROUNDS.into())?;
                Some(Repeat { most, until: until.read(&id)? })
            }
            None => None,
        };
        let retries = self.retries.unwrap_or_default();
        if retries > 0 {
            bounded("retries", retries.into(), MOST_RETRIES.into())?;
        }
        if let Some(secs) = self.timeout_secs {
            bounded("timeout_secs", secs, MOST_SECS)?;
        }
        let undo = self.undo.map(|undo| undo.read(&id)).transpose()?;
        if undo.is_some() && each.is_some() {
            let why = "what is done for each part of a list is undone by a step of its own";
            return Err(misplaced(&id, "undo", why));
        }
        if matches!(work, Work::Wait { .. }) && (each.is_some() || repeat.is_some()) {
            return Err(misplaced(&id, "wait", "an event is waited for once; leave out the list"));
        }
        Ok(Step {
            after,
            when: self.when.map(|when| when.read(&id)).transpose()?,
            work,
            each,
            repeat,
            retries,
            timeout: self.timeout_secs.map(Duration::from_secs),
            undo,
            id,
        })
    }
}

impl WorkForm {
    fn read(self, id: &StepName) -> Result<Work, BadDefinition> {
        let Self { prompt, agent, tool, with, ask, options, wait, value } = self;
        if with.is_some() && tool.is_none() {
            return Err(misplaced(id, "with", "only a tool has arguments"));
        }
        if options.is_some() && ask.is_none() {
            return Err(misplaced(id, "options", "only a question has them"));
        }
        if agent.is_some() && prompt.is_none() && tool.is_none() {
            return Err(misplaced(id, "agent", "nobody works on it"));
        }
        Ok(match (prompt, tool, ask, wait, value) {
            (Some(prompt), None, None, None, None) => {
                Work::Agent { agent, prompt: text(id, prompt)? }
            }
            (None, Some(tool), None, None, None) => {
                Work::Tool { agent, tool, with: with.unwrap_or_default() }
            }
            (None, None, Some(question), None, None) => {
                Work::Ask { question: text(id, question)?, options: options.unwrap_or_default() }
            }
            (None, None, None, Some(event), None) => Work::Wait { event },
            (None, None, None, None, Some(value)) => Work::Value { text: text(id, value)? },
            _ => return Err(BadDefinition::Work(id.to_string())),
        })
    }

    fn of(work: Work) -> Self {
        match work {
            Work::Agent { agent, prompt } => {
                Self { agent, prompt: Some(prompt.into()), ..Self::default() }
            }
            Work::Tool { agent, tool, with } => {
                Self { agent, tool: Some(tool), with: Some(with), ..Self::default() }
            }
            Work::Ask { question, options } => {
                Self { ask: Some(question.into()), options: Some(options), ..Self::default() }
            }
            Work::Wait { event } => Self { wait: Some(event), ..Self::default() },
            Work::Value { text } => Self { value: Some(text.into()), ..Self::default() },
        }
    }
}

impl ConditionForm {
    fn read(self, id: &StepName) -> Result<Condition, BadDefinition> {
        let Self { value, equals, not_equals, contains, exists } = self;
        let test = match (equals, not_equals, contains, exists) {
            (Some(wanted), None, None, None) => Test::Equals(wanted),
            (None, Some(other), None, None) => Test::Differs(other),
            (None, None, Some(part), None) => Test::Contains(part),
            (None, None, None, Some(wanted)) => Test::Exists(wanted),
            _ => return Err(BadDefinition::Condition(id.to_string())),
        };
        Ok(Condition { value: text(id, value)?, test })
    }

    fn of(condition: Condition) -> Self {
        let form = Self { value: condition.value.into(), ..Self::default() };
        match condition.test {
            Test::Equals(wanted) => Self { equals: Some(wanted), ..form },
            Test::Differs(other) => Self { not_equals: Some(other), ..form },
            Test::Contains(part) => Self { contains: Some(part), ..form },
            Test::Exists(wanted) => Self { exists: Some(wanted), ..form },
        }
    }
}

impl From<Definition> for Form {
    fn from(definition: Definition) -> Self {
        let Definition { name, agent, inputs, steps } = definition;
        Self { name, agent, inputs, steps: steps.into_iter().map(StepForm::of).collect() }
    }
}

impl StepForm {
    fn of(step: Step) -> Self {
        let WorkForm { prompt, agent, tool, with, ask, options, wait, value } =
            WorkForm::of(step.work);
        let (for_each, at_once) = step.each.map(|each| (each.list.into(), each.at_once)).unzip();
        Self {
            id: step.id,
            after: step.after,
            when: step.when.map(ConditionForm::of),
            prompt,
            agent,
            tool,
            with,
            ask,
            options,
            wait,
            value,
            for_each,
            at_once,
            repeat: step
                .repeat
                .map(|one| RepeatForm { most: one.most, until: ConditionForm::of(one.until) }),
            retries: (step.retries > 0).then_some(step.retries),
            timeout_secs: step.timeout.map(|time| time.as_secs()),
            undo: step.undo.map(WorkForm::of),
        }
    }
}

fn text(id: &StepName, text: String) -> Result<Template, BadDefinition> {
    let step = id.clone();
    Template::try_from(text).map_err(|why: BadTemplate| BadDefinition::Template { step, why })
}

fn misplaced(id: &StepName, what: &'static str, why: &'static str) -> BadDefinition {
    BadDefinition::Misplaced { step: id.clone(), what, why }
}
