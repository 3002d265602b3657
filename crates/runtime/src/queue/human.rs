//! A person as an agent: what comes in is put on a work list, and the person's
//! answer, given by [`AgentRuntime::answer`](super::AgentRuntime::answer), is
//! the reply.

use std::sync::Arc;

use ostler_bus::Envelope;

use super::agent::{Agent, AgentError, Reply};
use super::context::AgentContext;

/// A person.
#[derive(Debug, Clone, Copy, Default)]
pub struct Human;

impl Human {
    /// The type under which its records name it.
    pub const TYPE: &'static str = "human";
}

impl Agent for Human {
    async fn process(
        &self,
        context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> Result<Option<Reply>, AgentError> {
        let list = context.runtime().worklist();
        list.add(context.name(), Arc::clone(envelope)).await?;
        Ok(None)
    }
}
