//! Schedules of workflows, and what happened at their due times.

use ostler_domain::id::WorkflowId;
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::schedule::WorkflowSchedule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A schedule with its times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleTimes {
    pub schedule: WorkflowSchedule,
    /// The time zone that applies.
    pub time_zone: String,
    /// The next due times; none if it is paused.
    pub next: Vec<Timestamp>,
    /// What happened at the last due times, newest first.
    pub starts: Vec<ScheduleStart>,
}

/// What happened at a due time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleStart {
    pub due_at: Timestamp,
    /// `started`, `queued`, `skipped` or `failed`.
    pub outcome: String,
    /// How many due times before it passed without a start.
    pub missed: u32,
    pub workflow: Option<WorkflowId>,
    /// Why nothing was started.
    pub reason: Option<String>,
}
