//! Errors of workflow definitions, with texts for the author of the file.

use super::StepName;
use super::definition::MAX_STEPS;

/// Why a text is not a valid workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    #[error("a workflow has a name of 1 to 100 characters")]
    Name,
    #[error("a workflow has 1 to {MAX_STEPS} steps; this one has {0}")]
    Steps(usize),
    #[error("there are two steps named `{0}`; give one of them another name")]
    DuplicateStep(StepName),
    #[error("`{0}` needs exactly one of prompt, tool, workflow, ask, wait and value")]
    Work(String),
    #[error("`{step}` cannot have `{what}`: {reason}")]
    Misplaced { step: StepName, what: &'static str, reason: &'static str },
    #[error("`{step}` comes after `{missing}`, which is not there")]
    UnknownStep { step: StepName, missing: StepName },
    #[error("these steps wait for each other, so that none can begin: {}", join_cycle(.0))]
    Cycle(Vec<StepName>),
    #[error("`{what}` of `{step}` is 1 to {max}")]
    OutOfBounds { step: StepName, what: &'static str, max: u64 },
}

/// Why a workflow cannot start with an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputMismatch {
    #[error("the workflow needs the input `{0}`")]
    Missing(String),
    #[error("the workflow has no input `{0}`; add it to its `inputs` or leave it out")]
    Unknown(String),
}

fn join_cycle(steps: &[StepName]) -> String {
    let names: Vec<&str> = steps.iter().map(StepName::as_str).collect();
    names.join(" after ")
}
