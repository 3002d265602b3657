//! What people do to the steps of a workflow: skip, pause and continue one, and run those
//! of a failed workflow again.

use serde::{Deserialize, Serialize};

use super::progress::WorkflowProgress;
use super::{
    ItemStatus, StepName, StepStatus, Task, WorkflowDefinition, WorkflowStatus, WorkflowStop,
};

/// A change of a step by a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepControl {
    /// The steps after it run as if it were done, without its result.
    Skip,
    /// Nothing of the step starts until it is continued; what runs is finished.
    Pause,
    Continue,
}

/// Why a step cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlRefused {
    #[error("the workflow has no step `{0}`")]
    NoStep(StepName),
    #[error("the workflow has ended or is being undone")]
    Stopped,
    #[error("the step `{0}` has ended")]
    Ended(StepName),
    #[error("the step `{0}` is running; pause it, and skip it when it waits")]
    Running(StepName),
    #[error("the step `{0}` is not paused")]
    NotPaused(StepName),
    #[error("only a failed workflow can be retried")]
    NotFailed,
}

impl StepControl {
    /// Returns the name used on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Pause => "pause",
            Self::Continue => "continue",
        }
    }
}

impl WorkflowProgress {
    /// Returns whether a step is paused.
    pub fn is_paused(&self, step: &StepName) -> bool {
        self.paused.contains(step)
    }

    /// Changes a step as a person wants. Fails, changing nothing, if its state does not
    /// allow that.
    pub fn control(&mut self, step: &StepName, control: StepControl) -> Result<(), ControlRefused> {
        let status = self.steps.get(step).ok_or_else(|| ControlRefused::NoStep(step.clone()))?;
        if self.stop.is_some() {
            return Err(ControlRefused::Stopped);
        }
        let is_running = match status {
            StepStatus::Waiting => false,
            StepStatus::Working { items, .. } => {
                items.iter().any(|item| item.status == ItemStatus::Running)
            }
            _ => return Err(ControlRefused::Ended(step.clone())),
        };
        match control {
            StepControl::Skip if is_running => return Err(ControlRefused::Running(step.clone())),
            StepControl::Skip => {
                self.paused.remove(step);
                self.passed_over.insert(step.clone());
                self.steps.insert(step.clone(), StepStatus::Skipped);
            }
            StepControl::Pause => {
                self.paused.insert(step.clone());
            }
            StepControl::Continue => {
                if !self.paused.remove(step) {
                    return Err(ControlRefused::NotPaused(step.clone()));
                }
            }
        }
        Ok(())
    }

    /// Resumes a suspended task; returns `false` if it is not suspended.
    pub fn wake(&mut self, task: &Task) -> bool {
        if self.stop.is_none() && self.paused.contains(&task.step) {
            return false;
        }
        match self.item_mut(task) {
            Some(item) if matches!(item.status, ItemStatus::Suspended { .. }) => {
                item.status = ItemStatus::Running;
                true
            }
            _ => false,
        }
    }

    /// Cancels the workflow; returns `false` if it has ended or was stopped already.
    pub fn cancel(&mut self) -> bool {
        let open = self.stop.is_none() && !self.status().is_over();
        if open {
            self.stop = Some(WorkflowStop::Cancelled);
        }
        open
    }

    /// Stops the workflow because a step failed.
    pub fn give_up(&mut self, step: &StepName, reason: String) {
        if self.stop.is_none() && !self.status().is_over() {
            self.stop = Some(WorkflowStop::Failed { step: step.clone(), reason });
        }
    }

    /// Makes a failed workflow run again: steps that are done stay done, and those that
    /// failed, were stopped or undone start again. Returns these.
    pub fn retry(
        &mut self,
        definition: &WorkflowDefinition,
    ) -> Result<Vec<StepName>, ControlRefused> {
        if self.status() != WorkflowStatus::Failed {
            return Err(ControlRefused::NotFailed);
        }
        let mut again = Vec::new();
        for step in definition.steps() {
            match self.steps.get_mut(&step.id) {
                Some(
                    status @ (StepStatus::Failed { .. } | StepStatus::Stopped | StepStatus::Undone),
                ) => {
                    *status = StepStatus::Waiting;
                    again.push(step.id.clone());
                }
                // What it did is still in effect.
                Some(status @ StepStatus::NotUndone { .. }) => {
                    *status = StepStatus::Done { order: self.done };
                    self.done += 1;
                }
                _ => {}
            }
        }
        self.stop = None;
        Ok(again)
    }
}

#[cfg(test)]
mod tests {
    use super::{ControlRefused, StepControl};
    use crate::time::Timestamp;
    use crate::workflow::{
        Condition, StepName, StepOutcome, StepStatus, Task, Template, Values, WorkflowDefinition,
        WorkflowProgress, WorkflowStatus,
    };

    struct NoValues;

    impl Values for NoValues {
        fn holds(&self, _: &Condition, _: &Task) -> Result<bool, String> {
            Ok(true)
        }

        fn count(&self, _: &Template, _: &Task) -> Result<usize, String> {
            Ok(1)
        }
    }

    const NOW: Timestamp = Timestamp::from_millis(0);

    fn name(text: &str) -> StepName {
        text.parse().expect("a name")
    }

    /// a, then b, then c.
    fn chain() -> (WorkflowDefinition, WorkflowProgress) {
        let json = serde_json::json!({"name": "chain", "step": [
            {"id": "a", "value": "1"},
            {"id": "b", "after": ["a"], "value": "2", "undo": {"value": "3"}},
            {"id": "c", "after": ["b"], "value": "3"},
        ]});
        let definition: WorkflowDefinition = serde_json::from_value(json).expect("a definition");
        let progress = WorkflowProgress::new(&definition);
        (definition, progress)
    }

    fn started(definition: &WorkflowDefinition, progress: &mut WorkflowProgress) -> Vec<String> {
        let tasks = progress.advance(definition, &NoValues, 16, NOW);
        tasks.iter().map(ToString::to_string).collect()
    }

    fn end(
        definition: &WorkflowDefinition,
        progress: &mut WorkflowProgress,
        step: &str,
        outcome: StepOutcome,
    ) {
        let task = Task::new(name(step));
        assert!(progress.complete(definition, &NoValues, &task, outcome, NOW));
    }

    /// O30: a paused step does not start, and the steps after a skipped one do.
    #[test]
    fn o30_paused_steps_do_not_start_and_skipped_steps_block_nothing() {
        let (definition, mut progress) = chain();
        progress.control(&name("b"), StepControl::Pause).expect("it has not begun");
        assert_eq!(started(&definition, &mut progress), ["a"]);
        let running = progress.control(&name("a"), StepControl::Skip);
        assert_eq!(running, Err(ControlRefused::Running(name("a"))));
        end(&definition, &mut progress, "a", StepOutcome::Done);
        assert!(started(&definition, &mut progress).is_empty(), "b is paused");
        assert_eq!(progress.status(), WorkflowStatus::Waiting);
        let ended = progress.control(&name("a"), StepControl::Pause);
        assert_eq!(ended, Err(ControlRefused::Ended(name("a"))));
        let other = progress.control(&name("c"), StepControl::Continue);
        assert_eq!(other, Err(ControlRefused::NotPaused(name("c"))));
        progress.control(&name("b"), StepControl::Skip).expect("it is paused");
        assert_eq!(started(&definition, &mut progress), ["c"]);
        end(&definition, &mut progress, "c", StepOutcome::Done);
        started(&definition, &mut progress);
        assert_eq!(progress.status(), WorkflowStatus::Done);
    }

    /// O30: a step that is paused while it waits is continued with its answer.
    #[test]
    fn o30_a_paused_step_that_waits_is_woken_when_it_is_continued() {
        let (definition, mut progress) = chain();
        started(&definition, &mut progress);
        end(&definition, &mut progress, "a", StepOutcome::Suspended);
        progress.control(&name("a"), StepControl::Pause).expect("it waits");
        assert!(!progress.wake(&Task::new(name("a"))), "it is paused");
        progress.control(&name("a"), StepControl::Continue).expect("it is paused");
        assert!(progress.wake(&Task::new(name("a"))));
    }

    /// O30: a failed workflow runs again from the steps that are not done.
    #[test]
    fn o30_a_retried_workflow_repeats_what_failed_and_what_was_undone() {
        let (definition, mut progress) = chain();
        assert_eq!(progress.retry(&definition), Err(ControlRefused::NotFailed));
        for step in ["a", "b"] {
            started(&definition, &mut progress);
            end(&definition, &mut progress, step, StepOutcome::Done);
        }
        assert_eq!(started(&definition, &mut progress), ["c"]);
        let failed = StepOutcome::Failed { reason: "no".into(), retryable: false };
        end(&definition, &mut progress, "c", failed);
        assert_eq!(started(&definition, &mut progress), ["b!undo"]);
        let skip = progress.control(&name("c"), StepControl::Skip);
        assert_eq!(skip, Err(ControlRefused::Stopped));
        let undo = Task::undo(name("b"));
        assert!(progress.complete(&definition, &NoValues, &undo, StepOutcome::Done, NOW));
        started(&definition, &mut progress);
        assert_eq!(progress.status(), WorkflowStatus::Failed);
        assert_eq!(progress.retry(&definition), Ok(vec![name("b"), name("c")]));
        assert_eq!(progress.step_status(&name("a")), Some(&StepStatus::Done { order: 0 }));
        assert_eq!(started(&definition, &mut progress), ["b"]);
        assert_eq!(progress.status(), WorkflowStatus::Running);
    }
    /// O30: while a workflow that a step has started still runs, nothing before it is undone.
    #[test]
    fn o30_a_workflow_waits_for_its_child_before_it_undoes_steps() {
        let json = serde_json::json!({"name": "parent", "step": [
            {"id": "book", "value": "", "undo": {"value": ""}},
            {"id": "sub", "after": ["book"], "workflow": "other", "with": {"a": "b"}},
        ]});
        let definition: WorkflowDefinition = serde_json::from_value(json).expect("a definition");
        let last: Vec<&str> = definition.final_steps().map(StepName::as_str).collect();
        assert_eq!(last, ["sub"]);
        let mut progress = WorkflowProgress::new(&definition);
        started(&definition, &mut progress);
        end(&definition, &mut progress, "book", StepOutcome::Done);
        assert_eq!(started(&definition, &mut progress), ["sub"]);
        end(&definition, &mut progress, "sub", StepOutcome::Suspended);
        assert!(progress.cancel());
        assert!(started(&definition, &mut progress).is_empty(), "the child still runs");
        assert!(!progress.status().is_over());
        assert!(progress.wake(&Task::new(name("sub"))));
        let failed = StepOutcome::Failed { reason: "it was cancelled".into(), retryable: true };
        end(&definition, &mut progress, "sub", failed);
        assert_eq!(started(&definition, &mut progress), ["book!undo"]);
    }
}
