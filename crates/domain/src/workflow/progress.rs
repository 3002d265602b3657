//! Progress of a workflow: decides which tasks start next.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::definition::MAX_ITEMS;
use super::status::{
    ItemProgress, ItemStatus, StepOutcome, StepStatus, WorkflowStatus, WorkflowStop,
};
use super::{Step, StepName, StepWork, Task, Values, WorkflowDefinition};
use crate::time::Timestamp;

/// Progress of a workflow, without the results of its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowProgress {
    pub(super) steps: BTreeMap<StepName, StepStatus>,
    /// Once set, only undo work starts.
    pub(super) stop: Option<WorkflowStop>,
    /// Number of completed steps.
    pub(super) done: u32,
    /// Steps of which nothing starts.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) paused: BTreeSet<StepName>,
    /// Skipped steps that count as done for those after them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) passed_over: BTreeSet<StepName>,
}

impl WorkflowProgress {
    /// Creates the progress of a workflow that has not begun.
    pub fn new(definition: &WorkflowDefinition) -> Self {
        let steps = definition.steps().iter().map(|step| (step.id.clone(), StepStatus::Waiting));
        let (paused, passed_over) = (BTreeSet::new(), BTreeSet::new());
        Self { steps: steps.collect(), stop: None, done: 0, paused, passed_over }
    }

    /// Returns the status of a step.
    pub fn step_status(&self, step: &StepName) -> Option<&StepStatus> {
        self.steps.get(step)
    }

    /// Returns why the workflow was stopped, if it was.
    pub const fn stop(&self) -> Option<&WorkflowStop> {
        self.stop.as_ref()
    }

    /// Returns all running tasks. After a crash they are started again.
    pub fn running(&self) -> Vec<Task> {
        self.tasks(|item| item.status == ItemStatus::Running)
    }

    /// Returns all tasks that wait for a person or an event.
    pub fn suspended(&self) -> Vec<Task> {
        self.tasks(|item| matches!(item.status, ItemStatus::Suspended { .. }))
    }

    /// Returns all tasks that start as soon as there is room for them.
    fn queued(&self) -> Vec<Task> {
        let mut queued = self.tasks(|item| item.status == ItemStatus::Queued);
        queued.retain(|task| task.undo || !self.paused.contains(&task.step));
        queued
    }

    /// Returns the progress of the item that a task is about.
    pub fn item(&self, task: &Task) -> Option<&ItemProgress> {
        match self.steps.get(&task.step)? {
            StepStatus::Working { items, .. } if !task.undo => items.get(index(task)),
            StepStatus::Undoing { item } if task.undo => Some(item),
            _ => None,
        }
    }

    pub(super) fn item_mut(&mut self, task: &Task) -> Option<&mut ItemProgress> {
        match self.steps.get_mut(&task.step)? {
            StepStatus::Working { items, .. } if !task.undo => items.get_mut(index(task)),
            StepStatus::Undoing { item } if task.undo => Some(item),
            _ => None,
        }
    }

    fn tasks(&self, wanted: impl Fn(&ItemProgress) -> bool) -> Vec<Task> {
        let mut all = Vec::new();
        for (step, status) in &self.steps {
            match status {
                StepStatus::Working { items, has_list } => {
                    let numbers = items.iter().zip(0_u32..).filter(|(item, _)| wanted(item));
                    all.extend(numbers.map(|(_, number)| Task {
                        step: step.clone(),
                        item: has_list.then_some(number),
                        undo: false,
                    }));
                }
                StepStatus::Undoing { item } if wanted(item) => {
                    all.push(Task::undo(step.clone()));
                }
                _ => {}
            }
        }
        all
    }

    /// Returns the earliest time at which a suspended task expires.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let until = |task: &Task| match self.item(task).map(|item| &item.status) {
            Some(ItemStatus::Suspended { until }) => *until,
            _ => None,
        };
        self.suspended().iter().filter_map(until).min()
    }

    /// Records the outcome of a running task; returns `false`, changing nothing, if the
    /// task is not running.
    pub fn complete(
        &mut self,
        definition: &WorkflowDefinition,
        values: &impl Values,
        task: &Task,
        outcome: StepOutcome,
        now: Timestamp,
    ) -> bool {
        let Some(step) = definition.step(&task.step) else { return false };
        let Some(item) = self.item_mut(task).filter(|item| item.status == ItemStatus::Running)
        else {
            return false;
        };
        match outcome {
            StepOutcome::Done => {
                let over = match step.repeat.as_ref().filter(|_| !task.undo) {
                    Some(repeat) if item.round + 1 < repeat.max_rounds => {
                        values.holds(&repeat.until, task)
                    }
                    _ => Ok(true),
                };
                match over {
                    Ok(true) => item.status = ItemStatus::Done,
                    Ok(false) => {
                        *item = ItemProgress {
                            status: ItemStatus::Queued,
                            round: item.round + 1,
                            attempt: 0,
                        };
                    }
                    Err(reason) => self.fail(task, reason),
                }
            }
            StepOutcome::Failed { retryable: true, .. } if item.attempt < step.retries => {
                *item = ItemProgress {
                    status: ItemStatus::Queued,
                    round: item.round,
                    attempt: item.attempt + 1,
                };
            }
            StepOutcome::Failed { reason, .. } => self.fail(task, reason),
            StepOutcome::Suspended => {
                item.status = ItemStatus::Suspended { until: until(definition, task, now) }
            }
        }
        true
    }

    fn fail(&mut self, task: &Task, reason: String) {
        if let Some(item) = self.item_mut(task) {
            item.status = ItemStatus::Failed { reason: reason.clone() };
        }
        if !task.undo && self.stop.is_none() {
            self.stop = Some(WorkflowStop::Failed { step: task.step.clone(), reason });
        }
    }

    /// Starts every task that can start, up to `limit` running at once, and returns them.
    pub fn advance(
        &mut self,
        definition: &WorkflowDefinition,
        values: &impl Values,
        limit: usize,
        now: Timestamp,
    ) -> Vec<Task> {
        self.expire(now);
        if self.stop.is_none() {
            self.advance_steps(definition, values);
        }
        if self.stop.is_some() {
            self.undo_steps(definition);
        }
        self.start(definition, limit)
    }

    /// Fails suspended tasks whose time is over.
    fn expire(&mut self, now: Timestamp) {
        for task in self.suspended() {
            let over = self.item(&task).is_some_and(
                |item| matches!(item.status, ItemStatus::Suspended { until: Some(until) } if until <= now),
            );
            if over {
                self.fail(&task, "nobody answered in time".to_owned());
            }
        }
    }

    /// Completes steps whose items are all done and begins or skips steps that wait for
    /// nothing, until nothing changes.
    fn advance_steps(&mut self, definition: &WorkflowDefinition, values: &impl Values) {
        loop {
            let mut changed = false;
            for step in definition.steps() {
                let next = match self.steps.get(&step.id) {
                    Some(StepStatus::Working { items, .. })
                        if items.iter().all(|item| item.status == ItemStatus::Done) =>
                    {
                        self.done += 1;
                        StepStatus::Done { order: self.done - 1 }
                    }
                    Some(StepStatus::Waiting) => match self.begin(step, values) {
                        Some(Ok(begun)) => begun,
                        Some(Err(reason)) => {
                            self.stop = Some(WorkflowStop::Failed {
                                step: step.id.clone(),
                                reason: reason.clone(),
                            });
                            self.steps.insert(step.id.clone(), StepStatus::Failed { reason });
                            return;
                        }
                        None => continue,
                    },
                    _ => continue,
                };
                self.steps.insert(step.id.clone(), next);
                changed = true;
            }
            if !changed {
                return;
            }
        }
    }

    /// Returns the next status of a waiting step, or `None` if it must keep waiting.
    fn begin(&self, step: &Step, values: &impl Values) -> Option<Result<StepStatus, String>> {
        if self.paused.contains(&step.id) {
            return None;
        }
        let mut skipped = !step.after.is_empty();
        for before in &step.after {
            match self.steps.get(before) {
                Some(StepStatus::Done { .. }) => skipped = false,
                Some(StepStatus::Skipped) => skipped &= !self.passed_over.contains(before),
                _ => return None,
            }
        }
        let task = Task::new(step.id.clone());
        if skipped {
            return Some(Ok(StepStatus::Skipped));
        }
        match step.when.as_ref().map(|when| values.holds(when, &task)) {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => return Some(Ok(StepStatus::Skipped)),
            Some(Err(reason)) => return Some(Err(reason)),
        }
        let count = match step.each.as_ref().map(|each| values.count(&each.list, &task)) {
            None => 1,
            Some(Ok(count)) if count <= MAX_ITEMS => count,
            Some(Ok(count)) => {
                return Some(Err(format!("its list has {count} items; the limit is {MAX_ITEMS}")));
            }
            Some(Err(reason)) => return Some(Err(reason)),
        };
        let has_list = step.each.is_some();
        Some(Ok(StepStatus::Working { items: vec![ItemProgress::new(); count], has_list }))
    }

    /// Once nothing is running, ends what had begun and undoes completed steps one at a
    /// time, the last one first.
    fn undo_steps(&mut self, definition: &WorkflowDefinition) {
        if !self.running().is_empty() || self.waits_for_child(definition) {
            return;
        }
        for status in self.steps.values_mut() {
            match status {
                StepStatus::Working { items, .. } => {
                    let all_done = items.iter().all(|item| item.status == ItemStatus::Done);
                    let reason = items.iter().find_map(|item| match &item.status {
                        ItemStatus::Failed { reason } => Some(reason.clone()),
                        _ => None,
                    });
                    *status = match reason {
                        Some(reason) => StepStatus::Failed { reason },
                        None if all_done => {
                            self.done += 1;
                            StepStatus::Done { order: self.done - 1 }
                        }
                        None => StepStatus::Stopped,
                    };
                }
                StepStatus::Undoing { item } => match &item.status {
                    ItemStatus::Done => *status = StepStatus::Undone,
                    ItemStatus::Failed { reason } => {
                        *status = StepStatus::NotUndone { reason: reason.clone() }
                    }
                    ItemStatus::Queued | ItemStatus::Running | ItemStatus::Suspended { .. } => {
                        return;
                    }
                },
                _ => {}
            }
        }
        if let Some(next) = self.last_to_undo(definition) {
            self.steps.insert(next, StepStatus::Undoing { item: ItemProgress::new() });
        }
    }

    /// Returns whether a workflow that a step has started still runs. It is cancelled with its
    /// parent, which waits until that is undone.
    fn waits_for_child(&self, definition: &WorkflowDefinition) -> bool {
        self.suspended().iter().any(|task| {
            !task.undo && matches!(definition.work(task), Some(StepWork::Workflow { .. }))
        })
    }

    fn last_to_undo(&self, definition: &WorkflowDefinition) -> Option<StepName> {
        let done = definition.steps().iter().filter(|step| step.undo.is_some());
        let done = done.filter_map(|step| match self.steps.get(&step.id) {
            Some(StepStatus::Done { order }) => Some((order, &step.id)),
            _ => None,
        });
        done.max().map(|(_, id)| id.clone())
    }

    /// Starts queued items as far as the limits allow.
    fn start(&mut self, definition: &WorkflowDefinition, limit: usize) -> Vec<Task> {
        let mut capacity = limit.saturating_sub(self.running().len());
        let mut started = Vec::new();
        let stopped = self.stop.is_some();
        for step in definition.steps() {
            match self.steps.get_mut(&step.id) {
                Some(StepStatus::Working { items, has_list })
                    if !stopped && !self.paused.contains(&step.id) =>
                {
                    let running =
                        items.iter().filter(|item| item.status == ItemStatus::Running).count();
                    let concurrency =
                        step.each.as_ref().map_or(1, |each| each.concurrency as usize);
                    let mut free = concurrency.saturating_sub(running).min(capacity);
                    for (item, number) in items.iter_mut().zip(0_u32..) {
                        if free > 0 && item.status == ItemStatus::Queued {
                            item.status = ItemStatus::Running;
                            (free, capacity) = (free - 1, capacity - 1);
                            let (step, item) = (step.id.clone(), has_list.then_some(number));
                            started.push(Task { step, item, undo: false });
                        }
                    }
                }
                Some(StepStatus::Undoing { item })
                    if item.status == ItemStatus::Queued && capacity > 0 =>
                {
                    item.status = ItemStatus::Running;
                    capacity -= 1;
                    started.push(Task::undo(step.id.clone()));
                }
                _ => {}
            }
        }
        started
    }

    /// Returns the status of the workflow.
    pub fn status(&self) -> WorkflowStatus {
        let open = |status: &StepStatus| match status {
            StepStatus::Working { items, .. } => {
                items.iter().any(ItemProgress::is_open) || self.stop.is_none()
            }
            StepStatus::Undoing { .. } => true,
            StepStatus::Waiting => self.stop.is_none(),
            _ => false,
        };
        let is_open = self.steps.values().any(open);
        let busy = !self.running().is_empty() || !self.queued().is_empty();
        let waits =
            !self.suspended().is_empty() || (self.stop.is_none() && !self.paused.is_empty());
        match (&self.stop, is_open) {
            (Some(WorkflowStop::Failed { .. }), false) => WorkflowStatus::Failed,
            (Some(WorkflowStop::Cancelled), false) => WorkflowStatus::Cancelled,
            (None, false) => WorkflowStatus::Done,
            (_, true) if !busy && waits => WorkflowStatus::Waiting,
            (Some(_), true) => WorkflowStatus::Undoing,
            (None, true) => WorkflowStatus::Running,
        }
    }
}

fn index(task: &Task) -> usize {
    task.item.unwrap_or_default() as usize
}

/// Returns when a suspended task expires. The timeout of an agent or tool step limits
/// its working time, so its wait for a person has no limit.
fn until(definition: &WorkflowDefinition, task: &Task, now: Timestamp) -> Option<Timestamp> {
    let timeout = definition.step(&task.step)?.timeout?;
    matches!(definition.work(task)?, StepWork::Ask { .. } | StepWork::Wait { .. })
        .then(|| now + timeout)
}
