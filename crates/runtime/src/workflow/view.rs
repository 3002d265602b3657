//! A workflow for people and programs to look at.

use std::collections::BTreeMap;

use ostler_domain::id::WorkflowId;
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::{At, Definition, Progress, Standing, StepName, Stop, Task};
use ostler_store::{StoredTask, StoredWorkflow};
use serde::Serialize;

use super::question::OpenQuestion;
use super::saved::Saved;
pub use super::saved::TaskRecord;
use crate::talk::{Unreadable, read};

/// A workflow, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowSummary {
    /// Its id.
    pub id: WorkflowId,
    /// What it is called.
    pub name: String,
    /// Where it stands, in a word.
    pub status: String,
    /// How many of its steps are over.
    pub over: usize,
    /// How many it has.
    pub steps: usize,
    /// What it waits for people with: the tasks.
    pub waits: Vec<Task>,
    /// Why it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether somebody works on it, or is about to.
    pub due: bool,
    /// What it has cost, in credits.
    pub spent: u64,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it last came on.
    pub updated_at: Timestamp,
}

/// A workflow with all its steps.
#[derive(Debug, Clone, Serialize)]
pub struct WorkflowDetail {
    /// The whole.
    #[serde(flatten)]
    pub summary: WorkflowSummary,
    /// Each step, as it was written.
    pub tasks: Vec<TaskDetail>,
}

/// Something that is done for a step.
#[derive(Debug, Clone, Serialize)]
pub struct TaskDetail {
    /// Which.
    pub task: Task,
    /// How far it is, in a word.
    pub state: &'static str,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What it waits for people with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<OpenQuestion>,
    /// What was decided and spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<TaskRecord>,
}

impl WorkflowSummary {
    /// What is stored, in short.
    pub(crate) fn of(stored: &StoredWorkflow) -> Result<Self, Unreadable> {
        let progress: Progress = read("workflow", &stored.state)?;
        let definition: Definition = read("workflow", &stored.definition)?;
        let steps = definition.steps();
        let over = steps.iter().filter(|step| is_over(progress.standing(&step.id))).count();
        let why = progress.stop().map(|stop| match stop {
            Stop::Failed { step, why } => format!("the step `{step}` failed: {why}"),
            Stop::Cancelled => "it was cancelled".to_owned(),
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
            spent: stored.spent,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
        })
    }
}

const fn is_over(standing: Option<&Standing>) -> bool {
    !matches!(
        standing,
        None | Some(Standing::Waiting | Standing::Working { .. } | Standing::Undoing { .. })
    )
}

impl WorkflowDetail {
    /// What is stored.
    pub(crate) fn of(stored: &StoredWorkflow, tasks: Vec<StoredTask>) -> Result<Self, Unreadable> {
        let progress: Progress = read("workflow", &stored.state)?;
        let definition: Definition = read("workflow", &stored.definition)?;
        let mut rows: BTreeMap<Task, StoredTask> = BTreeMap::new();
        for row in tasks {
            if let Ok(task) = row.task.parse() {
                rows.insert(task, row);
            }
        }
        let mut shown = Vec::new();
        for step in definition.steps() {
            for task in tasks_of(&step.id, &progress, &rows) {
                shown.push(detail(&progress, rows.get(&task), task)?);
            }
        }
        Ok(Self { summary: WorkflowSummary::of(stored)?, tasks: shown })
    }

    /// A task of it.
    pub fn task(&self, task: &Task) -> Option<&TaskDetail> {
        self.tasks.iter().find(|one| one.task == *task)
    }
}

/// What is done for a step: what is known of it, and at least the step itself.
fn tasks_of(step: &StepName, progress: &Progress, rows: &BTreeMap<Task, StoredTask>) -> Vec<Task> {
    let stored = rows.keys().filter(|task| task.step == *step).cloned();
    let mut all: Vec<Task> = stored.collect();
    let listed = match progress.standing(step) {
        Some(Standing::Working { parts, listed: true }) => {
            let parts = 0..u32::try_from(parts.len()).unwrap_or(u32::MAX);
            all.extend(parts.map(|part| Task { part: Some(part), ..Task::of(step.clone()) }));
            true
        }
        _ => all.iter().any(|task| task.part.is_some()),
    };
    if !listed {
        all.push(Task::of(step.clone()));
    }
    if matches!(progress.standing(step), Some(Standing::Undoing { .. })) {
        all.push(Task::undoing(step.clone()));
    }
    all.sort_unstable_by(|a, b| (a.undo, a).cmp(&(b.undo, b)));
    all.dedup();
    all
}

fn detail(
    progress: &Progress,
    row: Option<&StoredTask>,
    task: Task,
) -> Result<TaskDetail, Unreadable> {
    let (state, why) = state(progress, &task);
    let saved: Option<Saved> =
        row.and_then(|row| row.saved.as_deref()).map(|text| read("turn", text)).transpose()?;
    let record =
        row.and_then(|row| row.record.as_deref()).map(|text| read("record", text)).transpose()?;
    let waits = matches!(progress.part(&task).map(|part| &part.at), Some(At::Suspended { .. }));
    Ok(TaskDetail {
        state,
        why,
        result: row.and_then(|row| row.result.clone()),
        questions: saved.filter(|_| waits).map_or_else(Vec::new, |saved| saved.questions),
        record,
        task,
    })
}

/// How far a task is, and why it failed.
fn state(progress: &Progress, task: &Task) -> (&'static str, Option<String>) {
    if let Some(part) = progress.part(task) {
        return match &part.at {
            At::Queued => ("queued", None),
            At::Running => ("running", None),
            At::Suspended { .. } => ("waits", None),
            At::Done => ("done", None),
            At::Failed { why } => ("failed", Some(why.clone())),
        };
    }
    match progress.standing(&task.step) {
        Some(Standing::Undone) if task.undo => ("done", None),
        Some(Standing::NotUndone { why }) if task.undo => ("failed", Some(why.clone())),
        Some(Standing::Done { .. } | Standing::Undoing { .. }) => ("done", None),
        Some(Standing::Skipped) => ("skipped", None),
        Some(Standing::Failed { why }) => ("failed", Some(why.clone())),
        Some(Standing::Stopped) => ("stopped", None),
        Some(Standing::Undone) => ("undone", None),
        Some(Standing::NotUndone { .. }) => ("not undone", None),
        Some(Standing::Waiting | Standing::Working { .. }) | None => ("waits for others", None),
    }
}
