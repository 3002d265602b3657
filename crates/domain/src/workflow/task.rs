//! The unit of work of a workflow: a step, one item of its list, or its undo work.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::StepName;

/// A unit of work of a step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    pub step: StepName,
    /// Index in the step's list, from 0; `None` if the step has no list.
    pub item: Option<u32>,
    /// Whether it runs the undo work of the step.
    pub undo: bool,
}

/// The text does not name a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a workflow task; use STEP, STEP/ITEM or STEP!undo")]
pub struct InvalidTask(String);

const UNDO: &str = "!undo";

impl Task {
    /// Creates the task of a step without a list.
    pub const fn new(step: StepName) -> Self {
        Self { step, item: None, undo: false }
    }

    /// Creates the task that undoes a step.
    pub const fn undo(step: StepName) -> Self {
        Self { step, item: None, undo: true }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        if let Some(item) = self.item {
            write!(f, "/{item}")?;
        }
        f.write_str(if self.undo { UNDO } else { "" })
    }
}

impl FromStr for Task {
    type Err = InvalidTask;

    fn from_str(text: &str) -> Result<Self, InvalidTask> {
        let invalid = || InvalidTask(text.chars().take(200).collect());
        let (rest, undo) = text.strip_suffix(UNDO).map_or((text, false), |rest| (rest, true));
        let (step, item) = match rest.split_once('/') {
            Some((step, item)) => (step, Some(item.parse().map_err(|_| invalid())?)),
            None => (rest, None),
        };
        Ok(Self { step: step.parse().map_err(|_| invalid())?, item, undo })
    }
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
