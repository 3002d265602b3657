//! The built-in tools that every agent of a harness has.

mod tasks;

use std::sync::{Arc, OnceLock};

use ostler_engine::ask;
use ostler_engine::tool::{Tool, ToolSet, ToolSetError};

pub use tasks::{task_check_tool, task_write_tool};

/// Returns the tool with which an agent asks the user a question.
pub fn ask_user_tool() -> Arc<dyn Tool> {
    let [question, _] = ask::tools();
    question
}

/// Returns the tool with which an agent submits a plan for approval.
pub fn submit_plan_tool() -> Arc<dyn Tool> {
    let [_, plan] = ask::tools();
    plan
}

/// Returns all of them. Their schemas are compiled once for all harnesses of the process.
pub(crate) fn built_in() -> Result<ToolSet, ToolSetError> {
    static COMPILED: OnceLock<ToolSet> = OnceLock::new();
    if let Some(tools) = COMPILED.get() {
        return Ok(tools.clone());
    }
    let all = [ask_user_tool(), submit_plan_tool(), task_write_tool(), task_check_tool()];
    let tools = ToolSet::new(all)?;
    Ok(COMPILED.get_or_init(|| tools).clone())
}
