//! Schedules: a stored workflow definition is started at times that a cron expression and a
//! time zone name.
//!
//! Decides when a schedule is due and what happens then; it reads no clock and starts
//! nothing. A due time is started once: the worker that starts it stores that together with the
//! workflow.

mod cron;
mod due;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use cron::{CronExpression, InvalidCron};
pub use due::{DueStart, MAX_QUEUED_STARTS, StartDecision, decide_due, decide_overlap};

#[cfg(test)]
mod tests;

/// Maximum number of schedules of an organization.
pub const MAX_SCHEDULES: usize = 200;

/// A schedule: which workflow starts when, with which input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowSchedule {
    /// The name, unique in the organization.
    pub name: String,
    /// The name of a workflow definition of the organization.
    pub workflow: String,
    /// The inputs that the definition names.
    #[serde(default)]
    pub input: BTreeMap<String, Value>,
    /// Minute, hour, day of the month, month and day of the week, such as `30 8 * * MON-FRI`.
    pub cron: CronExpression,
    /// The time zone of the times, such as `Europe/Berlin`; the organization's if it is left
    /// out.
    #[serde(default)]
    pub time_zone: Option<String>,
    /// What happens with due times that passed while nothing ran.
    #[serde(default)]
    pub missed: MissedStarts,
    /// What happens if a workflow of this schedule still runs.
    #[serde(default)]
    pub overlap: OverlapPolicy,
    /// Nothing starts while it is set. Due times of this time are not missed.
    #[serde(default)]
    pub paused: bool,
}

/// What happens with due times that passed while no process ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissedStarts {
    /// The workflow starts once, for the last of them.
    #[default]
    RunOnce,
    /// Nothing starts until the next due time. A start up to five minutes late is on time.
    Skip,
}

/// What happens at a due time if a workflow of the schedule still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverlapPolicy {
    /// Nothing starts.
    #[default]
    Skip,
    /// It starts when the one before has ended; at most ten wait.
    Queue,
    /// Both run at the same time.
    Allow,
}

impl WorkflowSchedule {
    /// Returns the time zone, given that of the organization.
    pub fn zone_name<'a>(&'a self, org: &'a str) -> &'a str {
        self.time_zone.as_deref().unwrap_or(org)
    }
}
