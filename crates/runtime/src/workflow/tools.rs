//! The tools of steps: those of conversations, without hand-over tools and with
//! tools that ask a person.

use std::sync::Arc;

use ostler_domain::tool::ToolGroup;
use ostler_engine::ask;
use ostler_engine::tool::{ToolSet, ToolSetError};

/// The tools that steps have besides those of the org.
#[derive(Clone)]
pub(super) struct StepTools(Arc<ToolSet>);

impl StepTools {
    pub(super) fn new() -> Result<Self, ToolSetError> {
        Ok(Self(Arc::new(ToolSet::new(ask::tools())?)))
    }

    /// Selects the tools of steps from all tools of an org.
    pub(super) fn of_org(&self, all: &ToolSet) -> Arc<ToolSet> {
        let mut tools = all.filtered(|spec| spec.group != ToolGroup::Team);
        tools.add_missing(&self.0);
        Arc::new(tools)
    }
}
