//! Where a workflow, its steps and what is done for them stand.

use serde::{Deserialize, Serialize};

use super::StepName;
use crate::time::Timestamp;

/// Why a workflow is given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stop", rename_all = "snake_case")]
pub enum Stop {
    /// A step failed.
    Failed {
        /// Which one.
        step: StepName,
        /// Why.
        why: String,
    },
    /// Somebody did not want it any more.
    Cancelled,
}

/// Where a step stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Standing {
    /// It waits for others.
    Waiting,
    /// It is being done.
    Working {
        /// Each part of its list, or the one thing that it is.
        parts: Vec<Part>,
        /// Whether it has a list.
        listed: bool,
    },
    /// It is done.
    Done {
        /// As which of all that are done, from 0.
        nth: u32,
    },
    /// Its condition did not hold, or all that it waited for was skipped.
    Skipped,
    /// It failed.
    Failed {
        /// Why.
        why: String,
    },
    /// It had begun when the workflow was given up.
    Stopped,
    /// It was done and is taken back.
    Undoing {
        /// How far that is.
        part: Part,
    },
    /// It was done and taken back.
    Undone,
    /// It was done and could not be taken back.
    NotUndone {
        /// Why.
        why: String,
    },
}

/// One thing that is done for a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// How far it is.
    #[serde(flatten)]
    pub at: At,
    /// Which round it is, from 0.
    #[serde(default)]
    pub round: u32,
    /// Which try of that round it is, from 0.
    #[serde(default)]
    pub attempt: u32,
}

/// How far one thing is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum At {
    /// It can begin.
    Queued,
    /// Somebody is at it.
    Running,
    /// It waits for a person or for something to happen.
    Suspended {
        /// Until when at most.
        until: Option<Timestamp>,
    },
    /// It is done.
    Done,
    /// It failed.
    Failed {
        /// Why.
        why: String,
    },
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    /// A result, which [`Values`](super::Values) shows already.
    Done,
    /// It failed.
    Failed {
        /// Why.
        why: String,
        /// Whether another try may help.
        again: bool,
    },
    /// It waits for a person or for something to happen.
    Suspended,
}

/// Where the whole stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Something is being done.
    Running,
    /// Nothing can be done until a person answers or something happens.
    Waiting,
    /// What was done is taken back.
    Undoing,
    /// Every step is done or was skipped.
    Done,
    /// A step failed, and what could be taken back was.
    Failed,
    /// Somebody stopped it, and what could be taken back was.
    Cancelled,
}

impl Status {
    /// Whether it is over.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Undoing => "undoing",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Part {
    pub(super) const fn new() -> Self {
        Self { at: At::Queued, round: 0, attempt: 0 }
    }

    pub(super) const fn is_open(&self) -> bool {
        matches!(self.at, At::Queued | At::Running | At::Suspended { .. })
    }
}
