//! What people do to the steps of a workflow, on its way to the worker that holds the
//! lease: a signal, like an answer. Its task is `!STEP`, which no step has as its name.

use ostler_domain::workflow::{StepControl, StepName, Task, WorkflowProgress};
use ostler_store::WorkflowAnswer;
use serde::{Deserialize, Serialize};

use super::instance::WorkflowInstance;
use crate::records::encode;

const PREFIX: char = '!';

#[derive(Serialize, Deserialize)]
struct StoredControl {
    step: StepName,
    control: StepControl,
}

/// Returns the signal of a control. `key` tells it from others for the same step.
pub(crate) fn control_signal(step: &StepName, control: StepControl, key: &str) -> WorkflowAnswer {
    WorkflowAnswer {
        task: format!("{PREFIX}{step}"),
        question: key.to_owned(),
        data: encode(&StoredControl { step: step.clone(), control }),
    }
}

/// What applying the controls of a workflow changed.
#[derive(Debug, Default)]
pub(super) struct AppliedControls {
    /// The signals: task and question.
    pub(super) consumed: Vec<(String, String)>,
    /// Tasks that no longer wait for an event.
    pub(super) ended_waits: Vec<String>,
}

/// Applies the controls that wait, in order of arrival. One that the state of its step does
/// not allow any more changes nothing.
pub(super) fn apply_controls(instance: &mut WorkflowInstance) -> AppliedControls {
    let mut applied = AppliedControls::default();
    let WorkflowInstance { signals, progress, .. } = instance;
    signals.answers.retain(|answer| {
        if !answer.task.starts_with(PREFIX) {
            return true;
        }
        if let Ok(StoredControl { step, control }) = serde_json::from_str(&answer.data) {
            apply(progress, &step, control, &mut applied.ended_waits);
        }
        applied.consumed.push((answer.task.clone(), answer.question.clone()));
        false
    });
    applied
}

fn apply(
    progress: &mut WorkflowProgress,
    step: &StepName,
    control: StepControl,
    ended_waits: &mut Vec<String>,
) {
    let waiting: Vec<Task> =
        progress.suspended().into_iter().filter(|task| task.step == *step).collect();
    match progress.control(step, control) {
        Ok(()) if control == StepControl::Skip => {
            ended_waits.extend(waiting.iter().map(ToString::to_string));
        }
        Ok(()) => {}
        Err(error) => tracing::info!(%step, %error, "control of a workflow step came too late"),
    }
}
