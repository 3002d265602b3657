//! What is done for a step: once, once for each part of a list, or to undo it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::StepName;

/// Something to do for a step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// The step.
    pub step: StepName,
    /// Which part of its list, from 0; none if the step has no list.
    pub part: Option<u32>,
    /// Whether it undoes the step.
    pub undo: bool,
}

/// The text does not name a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no task of a workflow; it is STEP, STEP/PART or STEP!undo")]
pub struct NotATask(String);

const UNDO: &str = "!undo";

impl Task {
    /// Doing a step that has no list.
    pub const fn of(step: StepName) -> Self {
        Self { step, part: None, undo: false }
    }

    /// Undoing a step.
    pub const fn undoing(step: StepName) -> Self {
        Self { step, part: None, undo: true }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        if let Some(part) = self.part {
            write!(f, "/{part}")?;
        }
        f.write_str(if self.undo { UNDO } else { "" })
    }
}

impl FromStr for Task {
    type Err = NotATask;

    fn from_str(text: &str) -> Result<Self, NotATask> {
        let wrong = || NotATask(text.chars().take(200).collect());
        let (rest, undo) = text.strip_suffix(UNDO).map_or((text, false), |rest| (rest, true));
        let (step, part) = match rest.split_once('/') {
            Some((step, part)) => (step, Some(part.parse().map_err(|_| wrong())?)),
            None => (rest, None),
        };
        Ok(Self { step: step.parse().map_err(|_| wrong())?, part, undo })
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
