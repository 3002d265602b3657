//! The events of a commit of a workflow: which steps ended, what it waits for, and that it
//! ended. They name steps, and no words of anybody.

use ostler_domain::event::{OrgEvent, WorkflowEnded, WorkflowStepEnded, WorkflowWaits};
use ostler_domain::id::WorkflowId;
use ostler_domain::workflow::{
    StepName, StepStatus, WorkflowDefinition, WorkflowProgress, WorkflowStatus,
};
use ostler_store::NewEvent;

/// Returns the events of a change from `before` to `after`.
pub(super) fn progress_events(
    id: WorkflowId,
    definition: &WorkflowDefinition,
    before: &WorkflowProgress,
    after: &WorkflowProgress,
) -> Vec<NewEvent> {
    let (workflow, name) = (id, definition.name().to_string());
    let mut events = Vec::new();
    for step in definition.steps() {
        let state = |progress| ended_state(progress, &step.id);
        if let Some(now) = state(after).filter(|now| state(before) != Some(*now)) {
            let (step, state) = (step.id.to_string(), now.to_owned());
            let ended = WorkflowStepEnded { workflow, name: name.clone(), step, state };
            events.push(NewEvent::new(&OrgEvent::WorkflowStep(ended)));
        }
    }
    let (was, is) = (before.status(), after.status());
    let waits: Vec<String> = after.suspended().iter().map(ToString::to_string).collect();
    if is == WorkflowStatus::Waiting && (was != is || before.suspended() != after.suspended()) {
        let waiting = WorkflowWaits { workflow, name: name.clone(), tasks: waits };
        events.push(NewEvent::new(&OrgEvent::WorkflowWaiting(waiting)));
    }
    if is.is_over() && was != is {
        let ended = WorkflowEnded { workflow, name, status: is.name().to_owned() };
        events.push(NewEvent::new(&OrgEvent::WorkflowEnded(ended)));
    }
    events
}

/// Returns how a step ended, if it did.
fn ended_state(progress: &WorkflowProgress, step: &StepName) -> Option<&'static str> {
    match progress.step_status(step)? {
        StepStatus::Waiting | StepStatus::Working { .. } | StepStatus::Undoing { .. } => None,
        StepStatus::Done { .. } => Some("done"),
        StepStatus::Skipped => Some("skipped"),
        StepStatus::Failed { .. } => Some("failed"),
        StepStatus::Stopped => Some("stopped"),
        StepStatus::Undone => Some("undone"),
        StepStatus::NotUndone { .. } => Some("not_undone"),
    }
}
