//! The task list of an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskItem {
    /// What is to be done, in the imperative: "Add tests".
    pub content: String,
    pub status: TaskStatus,
    /// What is shown while it is being done: "Adding tests".
    pub active_form: String,
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Pending,
    InProgress,
    Completed,
}

/// How far a task list is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatistics {
    pub total: usize,
    pub completed: usize,
    pub in_progress: usize,
    pub pending: usize,
    /// The tasks that are not completed.
    pub incomplete: Vec<TaskItem>,
    pub all_done: bool,
}

/// Returns how far a task list is done.
pub fn task_statistics(tasks: &[TaskItem]) -> TaskStatistics {
    let count = |status| tasks.iter().filter(|task| task.status == status).count();
    let incomplete: Vec<_> =
        tasks.iter().filter(|task| task.status != TaskStatus::Completed).cloned().collect();
    TaskStatistics {
        total: tasks.len(),
        completed: count(TaskStatus::Completed),
        in_progress: count(TaskStatus::InProgress),
        pending: count(TaskStatus::Pending),
        all_done: incomplete.is_empty(),
        incomplete,
    }
}

#[cfg(test)]
mod tests {
    use super::{TaskItem, TaskStatus, task_statistics};

    /// M22: a list is all done when nothing is left, also when it is empty.
    #[test]
    fn m22_tasks_are_counted_by_status() {
        let task = |content: &str, status| TaskItem {
            content: content.into(),
            status,
            active_form: format!("{content}ing"),
        };
        let tasks = [
            task("test", TaskStatus::Completed),
            task("build", TaskStatus::InProgress),
            task("land", TaskStatus::Pending),
            task("mend", TaskStatus::Pending),
        ];
        let found = task_statistics(&tasks);
        assert_eq!((found.total, found.completed, found.in_progress, found.pending), (4, 1, 1, 2));
        assert_eq!(found.incomplete, tasks[1..]);
        assert!(!found.all_done);
        assert!(task_statistics(&[]).all_done && task_statistics(&tasks[..1]).all_done);
    }
}
