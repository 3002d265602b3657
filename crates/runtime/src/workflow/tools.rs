//! The tools of steps: those of conversations, without hand-over tools and with
//! tools that ask a person.

use std::sync::Arc;

use ostler_domain::tool::ToolGroup;
use ostler_engine::ask;
use ostler_engine::tool::{Tool, ToolSet, ToolSetError};

pub(super) type StepTools = Arc<ToolSet>;

/// Selects the tools of steps from all tools.
pub(super) fn step_tools(all: &ToolSet) -> Result<StepTools, ToolSetError> {
    let mut tools: Vec<Arc<dyn Tool>> = all
        .specs()
        .filter(|spec| spec.group != ToolGroup::Team)
        .filter_map(|spec| all.get(spec.name.as_str()).cloned())
        .collect();
    let new = ask::tools().into_iter();
    tools.extend(new.filter(|tool| all.get(tool.definition().spec.name.as_str()).is_none()));
    Ok(Arc::new(ToolSet::new(tools)?))
}
