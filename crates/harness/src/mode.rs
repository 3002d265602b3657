//! Modes: each wraps an agent and remembers its own model.

use std::fmt;
use std::sync::Arc;

use ostler_engine::tool::Tool;
use ostler_workspace::workspace::Workspace;
use serde_json::Value;

use crate::config::HarnessOMConfig;
use crate::shipped::ModeAccess;

/// An agent: instructions and tools, and what it has instead of the harness's.
#[derive(Clone)]
pub struct HarnessAgent {
    pub name: String,
    /// The system prompt.
    pub instructions: String,
    /// Its own tools, besides those of the harness.
    pub tools: Vec<Arc<dyn Tool>>,
    /// How threads remember while this agent answers; `None` means as the harness says.
    pub memory: Option<HarnessOMConfig>,
    /// The directory that it works in; `None` means that of the harness.
    pub workspace: Option<Arc<Workspace>>,
    pub access: ModeAccess,
}

impl HarnessAgent {
    /// Creates an agent without tools, memory and workspace of its own.
    pub fn new(name: impl Into<String>, instructions: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            instructions: instructions.into(),
            tools: Vec::new(),
            memory: None,
            workspace: None,
            access: ModeAccess::All,
        }
    }

    /// Sets how threads remember while this agent answers.
    #[must_use]
    pub fn memory(self, memory: HarnessOMConfig) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// Sets the directory that it works in.
    #[must_use]
    pub fn workspace(self, workspace: Arc<Workspace>) -> Self {
        Self { workspace: Some(workspace), ..self }
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }
}

impl fmt::Debug for HarnessAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(|tool| &tool.definition().spec.name).collect();
        f.debug_struct("HarnessAgent").field("name", &self.name).field("tools", &tools).finish()
    }
}

type ChooseAgent = Arc<dyn Fn(&Value) -> Arc<HarnessAgent> + Send + Sync>;

/// How a mode finds its agent.
#[derive(Clone)]
pub(crate) enum ModeAgent {
    Fixed(Arc<HarnessAgent>),
    /// Depends on the state.
    OfState(ChooseAgent),
}

/// A mode of a harness.
#[derive(Clone)]
pub struct HarnessMode {
    pub id: String,
    pub name: String,
    /// The model unless a thread has another one for this mode.
    pub default_model_id: Option<String>,
    pub(crate) is_default: bool,
    pub(crate) agent: ModeAgent,
}

impl HarnessMode {
    /// Creates a mode with an agent.
    pub fn new(id: impl Into<String>, name: impl Into<String>, agent: HarnessAgent) -> Self {
        Self::with_agent(id, name, ModeAgent::Fixed(Arc::new(agent)))
    }

    /// Creates a mode whose agent depends on the state. The state is given as JSON; see
    /// [`HarnessBuilder::mode_of_state`](crate::HarnessBuilder::mode_of_state) for the typed
    /// form.
    pub(crate) fn with_agent(
        id: impl Into<String>,
        name: impl Into<String>,
        agent: ModeAgent,
    ) -> Self {
        Self { id: id.into(), name: name.into(), default_model_id: None, is_default: false, agent }
    }

    /// Makes this the mode that a harness begins with.
    #[must_use]
    pub fn default_mode(self) -> Self {
        Self { is_default: true, ..self }
    }

    /// Sets the model of the mode.
    #[must_use]
    pub fn default_model(self, id: impl Into<String>) -> Self {
        Self { default_model_id: Some(id.into()), ..self }
    }

    /// Returns the agent for a state.
    pub(crate) fn agent(&self, state: &Value) -> Arc<HarnessAgent> {
        match &self.agent {
            ModeAgent::Fixed(agent) => agent.clone(),
            ModeAgent::OfState(choose) => choose(state),
        }
    }
}

impl fmt::Debug for HarnessMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HarnessMode")
            .field("id", &self.id)
            .field("default", &self.is_default)
            .field("default_model_id", &self.default_model_id)
            .finish_non_exhaustive()
    }
}
