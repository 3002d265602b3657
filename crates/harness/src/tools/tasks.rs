//! The tools for the task list.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::request::HarnessRequestContext;
use crate::task::{TaskItem, task_statistics};

const TASK_WRITE: ToolName = ToolName::from_static("task_write");
const TASK_CHECK: ToolName = ToolName::from_static("task_check");

/// Returns the tool that replaces the task list.
pub fn task_write_tool() -> Arc<dyn Tool> {
    let schema = schemars::schema_for!(TaskList).to_value();
    let description = "Write your task list: the whole list replaces the one before. Keep at \
                       most one task in progress.";
    let spec = ToolSpec::control(TASK_WRITE, ToolGroup::Custom);
    Arc::new(TaskWrite(ToolDefinition::new(spec, description, schema)))
}

/// Returns the tool that tells how far the task list is done.
pub fn task_check_tool() -> Arc<dyn Tool> {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let description = "See which of your tasks are not done. Call it before you finish.";
    let spec = ToolSpec::control(TASK_CHECK, ToolGroup::Custom);
    Arc::new(TaskCheck(ToolDefinition::new(spec, description, schema)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskList {
    tasks: Vec<TaskItem>,
}

struct TaskWrite(ToolDefinition);
struct TaskCheck(ToolDefinition);

fn no_harness() -> ToolOutcome {
    ToolOutcome::failed("There is no task list here.")
}

impl Tool for TaskWrite {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        async move {
            let list: TaskList = match call.arguments() {
                Ok(list) => list,
                Err(invalid) => return ToolReply::Done(invalid),
            };
            let Some(harness) = context.extensions.get::<HarnessRequestContext>() else {
                return ToolReply::Done(no_harness());
            };
            let count = list.tasks.len();
            ToolReply::Done(match harness.set_tasks(list.tasks).await {
                Ok(()) => ToolOutcome::ok(format!("The list has {count} tasks now.")),
                Err(error) => ToolOutcome::failed(format!("The list was not stored: {error}.")),
            })
        }
        .boxed()
    }
}

impl Tool for TaskCheck {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Authorized, context: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        let outcome = match context.extensions.get::<HarnessRequestContext>() {
            Some(harness) => {
                let found = task_statistics(&harness.tasks());
                ToolOutcome::ok(serde_json::to_string(&found).unwrap_or_default())
            }
            None => no_harness(),
        };
        std::future::ready(ToolReply::Done(outcome)).boxed()
    }
}
