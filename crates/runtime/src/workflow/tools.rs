//! The tools that steps have: those of conversations, without those that hand a
//! conversation over, and with those that ask a person.

use std::sync::Arc;

use ostler_domain::tool::ToolGroup;
use ostler_engine::ask;
use ostler_engine::tool::{BadTool, Tool, ToolSet};

/// The tools of steps.
pub(super) type StepTools = Arc<ToolSet>;

/// The tools of steps, out of all that there are.
pub(super) fn of_steps(all: &ToolSet) -> Result<StepTools, BadTool> {
    let mut tools: Vec<Arc<dyn Tool>> = all
        .specs()
        .filter(|spec| spec.group != ToolGroup::Team)
        .filter_map(|spec| all.get(spec.name.as_str()).cloned())
        .collect();
    let new = ask::tools().into_iter();
    tools.extend(new.filter(|tool| all.get(tool.definition().spec.name.as_str()).is_none()));
    Ok(Arc::new(ToolSet::new(tools)?))
}
