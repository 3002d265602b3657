//! Workflows as shown to people and programs.

use std::collections::BTreeMap;

use ostler_domain::id::WorkflowId;
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::{
    ItemStatus, StepName, StepStatus, Task, WorkflowDefinition, WorkflowProgress, WorkflowStop,
};
use ostler_store::{StoredChild, StoredTask, StoredWorkflow};
use serde::Serialize;

use super::checkpoint::StepCheckpoint;
pub use super::checkpoint::TaskRecord;
use super::question::OpenQuestion;
use crate::records::{UnreadableRecord, decode};

/// A workflow in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowSummary {
    pub id: WorkflowId,
    pub name: String,
    pub status: String,
    /// Number of finished steps.
    pub over: usize,
    /// Number of steps.
    pub steps: usize,
    /// Tasks that wait for people or events.
    pub waits: Vec<Task>,
    /// Why it failed or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether a runner works on it or will claim it.
    pub due: bool,
    /// When the lease of the process that runs it ends, unless it is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leased_until: Option<Timestamp>,
    /// When it continues by itself; `None` while it waits for people or events, or has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues_at: Option<Timestamp>,
    /// The workflow and the task that have started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<(WorkflowId, String)>,
    /// In credits, with the workflows that it has started.
    pub spent: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A workflow with all its tasks.
#[derive(Debug, Clone, Serialize)]
pub struct WorkflowDetail {
    #[serde(flatten)]
    pub summary: WorkflowSummary,
    /// In the order of the definition.
    pub tasks: Vec<TaskDetail>,
}

/// A task of a step.
#[derive(Debug, Clone, Serialize)]
pub struct TaskDetail {
    pub task: Task,
    /// For example `running` or `done`.
    pub state: &'static str,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<OpenQuestion>,
    /// The workflows that it has started, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildWorkflow>,
    /// Decisions of the gate, and charges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<TaskRecord>,
}

/// A workflow that a task has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChildWorkflow {
    pub id: WorkflowId,
    pub name: String,
    pub status: String,
}

impl WorkflowSummary {
    /// Summarizes a stored workflow.
    pub(crate) fn of(stored: &StoredWorkflow) -> Result<Self, UnreadableRecord> {
        let progress: WorkflowProgress = decode("workflow", &stored.state)?;
        let definition: WorkflowDefinition = decode("workflow", &stored.definition)?;
        let steps = definition.steps();
        let over = steps.iter().filter(|step| is_finished(progress.step_status(&step.id))).count();
        let why = progress.stop().map(|stop| match stop {
            WorkflowStop::Failed { step, reason: why } => {
                format!("the step `{step}` failed: {why}")
            }
            WorkflowStop::Cancelled => "it was cancelled".to_owned(),
        });
        Ok(Self {
            id: stored.id,
            name: stored.name.clone(),
            status: stored.status.clone(),
            over,
            steps: steps.len(),
            waits: progress.suspended(),
            why,
            due: stored.due,
            leased_until: stored.leased_until,
            continues_at: stored.continues_at,
            parent: stored.parent.clone(),
            spent: stored.spent,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
        })
    }
}

const fn is_finished(status: Option<&StepStatus>) -> bool {
    !matches!(
        status,
        None | Some(StepStatus::Waiting | StepStatus::Working { .. } | StepStatus::Undoing { .. })
    )
}

impl WorkflowDetail {
    /// Describes a stored workflow.
    pub(crate) fn of(
        stored: &StoredWorkflow,
        tasks: Vec<StoredTask>,
    ) -> Result<Self, UnreadableRecord> {
        let progress: WorkflowProgress = decode("workflow", &stored.state)?;
        let definition: WorkflowDefinition = decode("workflow", &stored.definition)?;
        let mut rows: BTreeMap<Task, StoredTask> = BTreeMap::new();
        for row in tasks {
            if let Ok(task) = row.task.parse() {
                rows.insert(task, row);
            }
        }
        let mut details = Vec::new();
        for step in definition.steps() {
            for task in tasks_of(&step.id, &progress, &rows) {
                details.push(task_detail(&progress, rows.get(&task), task)?);
            }
        }
        Ok(Self { summary: WorkflowSummary::of(stored)?, tasks: details })
    }

    /// Adds the workflows that its tasks have started.
    pub(crate) fn with_children(mut self, children: Vec<StoredChild>) -> Self {
        for StoredChild { id, name, status, task } in children {
            let task = self.tasks.iter_mut().find(|one| one.task.to_string() == task);
            if let Some(task) = task {
                task.children.push(ChildWorkflow { id, name, status });
            }
        }
        self
    }

    /// Returns one task.
    pub fn task(&self, task: &Task) -> Option<&TaskDetail> {
        self.tasks.iter().find(|detail| detail.task == *task)
    }
}

/// Returns the tasks of a step, at least one.
fn tasks_of(
    step: &StepName,
    progress: &WorkflowProgress,
    rows: &BTreeMap<Task, StoredTask>,
) -> Vec<Task> {
    let stored = rows.keys().filter(|task| task.step == *step).cloned();
    let mut all: Vec<Task> = stored.collect();
    let listed = match progress.step_status(step) {
        Some(StepStatus::Working { items: parts, has_list: true }) => {
            let parts = 0..u32::try_from(parts.len()).unwrap_or(u32::MAX);
            all.extend(parts.map(|part| Task { item: Some(part), ..Task::new(step.clone()) }));
            true
        }
        _ => all.iter().any(|task| task.item.is_some()),
    };
    if !listed {
        all.push(Task::new(step.clone()));
    }
    if matches!(progress.step_status(step), Some(StepStatus::Undoing { .. })) {
        all.push(Task::undo(step.clone()));
    }
    all.sort_unstable_by(|a, b| (a.undo, a).cmp(&(b.undo, b)));
    all.dedup();
    all
}

fn task_detail(
    progress: &WorkflowProgress,
    row: Option<&StoredTask>,
    task: Task,
) -> Result<TaskDetail, UnreadableRecord> {
    let (state, why) = state(progress, &task);
    let checkpoint: Option<StepCheckpoint> = row
        .and_then(|row| row.checkpoint.as_deref())
        .map(|text| decode("turn", text))
        .transpose()?;
    let record =
        row.and_then(|row| row.record.as_deref()).map(|text| decode("record", text)).transpose()?;
    let waits =
        matches!(progress.item(&task).map(|item| &item.status), Some(ItemStatus::Suspended { .. }));
    Ok(TaskDetail {
        state,
        why,
        result: row.and_then(|row| row.result.clone()),
        questions: checkpoint
            .filter(|_| waits)
            .map_or_else(Vec::new, |checkpoint| checkpoint.questions),
        children: Vec::new(),
        record,
        task,
    })
}

/// Returns the state of a task, and why it failed.
fn state(progress: &WorkflowProgress, task: &Task) -> (&'static str, Option<String>) {
    let is_running = progress.item(task).is_some_and(|item| item.status == ItemStatus::Running);
    if progress.is_paused(&task.step)
        && !is_running
        && !is_finished(progress.step_status(&task.step))
    {
        return ("paused", None);
    }
    if let Some(item) = progress.item(task) {
        return match &item.status {
            ItemStatus::Queued => ("queued", None),
            ItemStatus::Running => ("running", None),
            ItemStatus::Suspended { .. } => ("waits", None),
            ItemStatus::Done => ("done", None),
            ItemStatus::Failed { reason: why } => ("failed", Some(why.clone())),
        };
    }
    match progress.step_status(&task.step) {
        Some(StepStatus::Undone) if task.undo => ("done", None),
        Some(StepStatus::NotUndone { reason: why }) if task.undo => ("failed", Some(why.clone())),
        Some(StepStatus::Done { .. } | StepStatus::Undoing { .. }) => ("done", None),
        Some(StepStatus::Skipped) => ("skipped", None),
        Some(StepStatus::Failed { reason: why }) => ("failed", Some(why.clone())),
        Some(StepStatus::Stopped) => ("stopped", None),
        Some(StepStatus::Undone) => ("undone", None),
        Some(StepStatus::NotUndone { .. }) => ("not undone", None),
        Some(StepStatus::Waiting | StepStatus::Working { .. }) | None => ("waits for others", None),
    }
}
