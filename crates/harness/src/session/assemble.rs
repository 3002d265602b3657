//! What a turn works with: the agent of the mode, its tools, scope and prompt.

use std::sync::Arc;

use ostler_domain::scope::ToolScope;
use ostler_domain::tool::{Risk, ToolCategory, ToolName, ToolRole, ToolSpec};
use ostler_engine::subagent::{Subagent, Subagents};
use ostler_engine::tool::ToolSet;

use super::{Core, Session};
use crate::error::HarnessError;
use crate::mode::HarnessAgent;
use crate::shipped::ModeAccess;
use crate::subagent::HarnessSubagent;
use crate::tools;
use crate::workspace;

/// What the turns of an agent work with. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Assembled {
    pub(crate) agent: Arc<HarnessAgent>,
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) scope: Arc<ToolScope>,
    /// The tools of the agent itself; subagents may have others.
    pub(crate) own_tools: Arc<[ToolName]>,
}

impl Core {
    /// Assembles what the current mode works with, or returns what was assembled before
    /// if nothing has changed.
    pub(crate) fn assemble(&self, session: &mut Session) -> Result<Assembled, HarnessError> {
        let mode = self
            .config
            .mode(&session.mode)
            .ok_or_else(|| HarnessError::UnknownMode(session.mode.clone()))?;
        let own = self.config.state_schema.own_fields(&self.state());
        let agent = mode.agent(&own);
        if let Some(known) = &session.assembled
            && Arc::ptr_eq(&known.agent, &agent)
        {
            return Ok(known.clone());
        }
        let assembled = self.build(session, agent, mode.default_model_id.as_deref())?;
        session.assembled = Some(assembled.clone());
        Ok(assembled)
    }

    fn build(
        &self,
        session: &Session,
        agent: Arc<HarnessAgent>,
        mode_model: Option<&str>,
    ) -> Result<Assembled, HarnessError> {
        let mut set = tools::built_in()?;
        for tool in &agent.tools {
            set.add(tool.clone())?;
        }
        for tool in &self.config.tools {
            set.add(tool.clone())?;
        }
        if self.config.workspace.is_some() || agent.workspace.is_some() {
            let of_workspace = ToolSet::new(workspace::tools(self.config.workspace_trust))?;
            // An agent's own tool of the same name stays.
            set.add_missing(&of_workspace);
        }
        let memory = session.thread.as_ref().and_then(|thread| thread.window.memory.as_ref());
        if let Some(memory) = memory {
            set.add(memory.recall_tool())?;
        }
        let read_only = agent.access == ModeAccess::ReadOnly;
        let is_allowed = |spec: &&ToolSpec| {
            let reads = spec.risk == Risk::Read && spec.category == ToolCategory::Read;
            !read_only || reads || spec.role == ToolRole::Control
        };
        let mut own_tools: Vec<ToolName> =
            set.specs().filter(is_allowed).map(|spec| spec.name.clone()).collect();
        let definitions: Vec<Subagent> =
            self.config.subagents.iter().map(HarnessSubagent::definition).collect();
        for subagent in &self.config.subagents {
            let own = ToolSet::new(subagent.tools.iter().cloned())?;
            set.add_missing(&own);
        }
        let all: Vec<ToolName> = set.specs().map(|spec| spec.name.clone()).collect();
        let mut subagents = Subagents::new(definitions, &all)?;
        for (kind, model) in &session.subagent_models {
            subagents = subagents.with_model(kind, model)?;
        }
        if let Some(model) = mode_model {
            subagents = subagents.in_mode(model);
        }
        if let Some(tool) = subagents.tool() {
            // A subagent may have tools that change something.
            if !read_only {
                own_tools.push(tool.definition().spec.name.clone());
            }
            set.add(tool)?;
        }
        let specs: Vec<_> = set.specs().cloned().collect();
        let scope = match &self.config.scope {
            Some(filter) => filter(specs),
            None => ToolScope::unrestricted(specs),
        };
        Ok(Assembled {
            system: agent.instructions.as_str().into(),
            agent,
            tools: Arc::new(set),
            scope: Arc::new(scope),
            own_tools: own_tools.into(),
        })
    }
}
