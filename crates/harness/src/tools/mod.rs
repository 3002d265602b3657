//! The built-in tools that every agent of a harness has.

mod tasks;

use std::sync::Arc;

use ostler_engine::ask;
use ostler_engine::tool::Tool;

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

/// Returns all of them.
pub(crate) fn built_in() -> [Arc<dyn Tool>; 4] {
    [ask_user_tool(), submit_plan_tool(), task_write_tool(), task_check_tool()]
}
