//! Why a text is no workflow, in sentences for whoever wrote it.

use super::StepName;
use super::definition::MOST_STEPS;
use super::template::BadTemplate;

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
