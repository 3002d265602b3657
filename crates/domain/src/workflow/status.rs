//! Statuses of a workflow, its steps and the items of a step.

use serde::{Deserialize, Serialize};

use super::StepName;
use crate::time::Timestamp;

/// Why a workflow was stopped before its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stop", rename_all = "snake_case")]
pub enum WorkflowStop {
    Failed { step: StepName, reason: String },
    Cancelled,
}

/// Status of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum StepStatus {
    Waiting,
    Working {
        /// One for each item of the step's list; exactly one if it has no list.
        #[serde(with = "super::item_runs")]
        items: Vec<ItemProgress>,
        /// Whether the step has a list (`for_each`).
        has_list: bool,
    },
    Done {
        /// Position among the steps in order of completion, from 0.
        order: u32,
    },
    /// Its condition does not hold, or every step it waited for was skipped.
    Skipped,
    Failed {
        reason: String,
    },
    /// It had begun when the workflow was stopped.
    Stopped,
    /// It was done and its undo work is in progress.
    Undoing {
        item: ItemProgress,
    },
    Undone,
    /// It was done and its undo work failed.
    NotUndone {
        reason: String,
    },
}

/// Progress of one item of a step's list, or of a step without a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemProgress {
    #[serde(flatten)]
    pub status: ItemStatus,
    /// The current round of a repeated step, from 0.
    #[serde(default)]
    pub round: u32,
    /// The current attempt of that round, from 0.
    #[serde(default)]
    pub attempt: u32,
}

/// Status of one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum ItemStatus {
    Queued,
    Running,
    /// Waits for a person or an event, at most until this time.
    Suspended {
        until: Option<Timestamp>,
    },
    Done,
    Failed {
        reason: String,
    },
}

/// The outcome of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepOutcome {
    /// The result is available through [`Values`](super::Values).
    Done,
    Failed {
        reason: String,
        /// Whether a retry may help.
        retryable: bool,
    },
    /// The task waits for a person, an event or a workflow that it has started.
    Suspended,
}

/// Status of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowStatus {
    Running,
    /// Nothing can run until a person answers or an event arrives.
    Waiting,
    /// Completed steps are being undone.
    Undoing,
    /// Every step is done or skipped.
    Done,
    /// A step failed; completed steps were undone where possible.
    Failed,
    /// Cancelled; completed steps were undone where possible.
    Cancelled,
}

impl WorkflowStatus {
    /// Returns whether the workflow has ended.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// Returns the name used in JSON and in the database.
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

impl ItemProgress {
    pub(super) const fn new() -> Self {
        Self { status: ItemStatus::Queued, round: 0, attempt: 0 }
    }

    pub(super) const fn is_open(&self) -> bool {
        matches!(
            self.status,
            ItemStatus::Queued | ItemStatus::Running | ItemStatus::Suspended { .. }
        )
    }
}
