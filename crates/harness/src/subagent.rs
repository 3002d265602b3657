//! Subagents of a harness.

use std::fmt;
use std::sync::Arc;

use ostler_domain::money::Credits;
use ostler_domain::tool::ToolName;
use ostler_engine::subagent::Subagent;
use ostler_engine::tool::Tool;

/// A subagent that agents of the harness can give work to.
#[derive(Clone)]
pub struct HarnessSubagent {
    /// The name that agents call it by.
    pub id: String,
    pub name: String,
    /// What it is good for; agents choose by this text.
    pub description: String,
    /// Its system prompt.
    pub instructions: String,
    /// Tools that only it has.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools of the calling agent that it may use as well.
    pub allowed_harness_tools: Vec<ToolName>,
    pub default_model_id: Option<String>,
    /// Whether it begins with the conversation of its caller instead of its task alone.
    pub forked: bool,
    /// The most answers it may give.
    pub max_steps: Option<u32>,
    /// The most credits that it may spend on a task, with the subagents that it starts.
    pub max_credits: Option<Credits>,
}

impl HarnessSubagent {
    /// Creates a subagent without tools.
    pub fn new(
        id: impl Into<String>,
        description: impl Into<String>,
        instructions: impl Into<String>,
    ) -> Self {
        let id = id.into();
        Self {
            name: id.clone(),
            id,
            description: description.into(),
            instructions: instructions.into(),
            tools: Vec::new(),
            allowed_harness_tools: Vec::new(),
            default_model_id: None,
            forked: false,
            max_steps: None,
            max_credits: None,
        }
    }

    /// Returns the definition that the engine runs.
    pub(crate) fn definition(&self) -> Subagent {
        let own_tools = self.tools.iter().map(|tool| tool.definition().spec.name.clone());
        Subagent {
            name: self.id.clone(),
            description: if self.name == self.id {
                self.description.clone()
            } else {
                format!("{}. {}", self.name, self.description)
            },
            instructions: self.instructions.clone(),
            forked: self.forked,
            tools: self.allowed_harness_tools.clone(),
            own_tools: own_tools.collect(),
            max_steps: self.max_steps,
            max_credits: self.max_credits,
            default_model: self.default_model_id.clone(),
        }
    }
}

impl fmt::Debug for HarnessSubagent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HarnessSubagent").field("id", &self.id).finish_non_exhaustive()
    }
}
