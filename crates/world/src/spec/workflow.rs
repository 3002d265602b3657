//! Workflow definitions and schedules of an org.

use ostler_domain::workflow::WorkflowDefinition;
use ostler_domain::workflow::schedule::WorkflowSchedule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A workflow that schedules, people and other workflows start by its name; see
/// docs/WORKFLOWS.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowResource {
    /// Its organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    #[serde(flatten)]
    pub definition: WorkflowDefinition,
}

/// A schedule that starts a workflow; see docs/WORKFLOWS.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleResource {
    /// Its organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    #[serde(flatten)]
    pub schedule: WorkflowSchedule,
}
