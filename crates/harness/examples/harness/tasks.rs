//! Tasks: the list that an agent keeps while it works.

use ostler_harness::task_statistics;

use super::{Printed, harness};

const SCRIPT: &str = "rules:\n  - when: { user: go }\n    answer:\n      - call: task_write\n        with:\n          tasks:\n            - { content: Buy paint, status: completed, activeForm: Buying paint }\n            - { content: Paint, status: in_progress, activeForm: Painting }\n      - call: task_check\n      - \"{{ result }}\"";

pub(super) async fn run() -> Printed {
    let harness =
        harness(SCRIPT).await?.initial_state(serde_json::json!({"yolo": true})).build()?;
    harness.init().await?;
    harness.send_message("go").await?;
    let tasks = harness.tasks();
    let names: Vec<&str> = tasks.iter().map(|task| task.content.as_str()).collect();
    Ok(format!("{}: {}", names.join(", "), serde_json::to_string(&task_statistics(&tasks))?))
}
