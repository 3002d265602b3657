//! Humans as agents: incoming messages go to a work list, and the human's
//! answer, given with
//! [`AgentRuntime::answer_work_item`](super::AgentRuntime::answer_work_item),
//! is the reply.

use std::sync::Arc;

use ostler_bus::Envelope;

use super::agent::{AgentError, AgentReply, QueueAgent};
use super::context::AgentContext;

/// Puts messages on a human's work list.
#[derive(Debug, Clone, Copy, Default)]
pub struct HumanAgent;

impl HumanAgent {
    /// The agent type in its record.
    pub const TYPE: &'static str = "human";
}

impl QueueAgent for HumanAgent {
    async fn process(
        &self,
        context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> Result<Option<AgentReply>, AgentError> {
        let list = context.runtime().worklist();
        list.add(context.name(), Arc::clone(envelope)).await?;
        Ok(None)
    }
}
