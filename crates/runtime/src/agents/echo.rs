//! An agent that returns what it receives, for smoke tests.

use std::sync::Arc;

use ostler_bus::Envelope;

use super::agent::{AgentError, AgentReply, QueueAgent};
use super::context::AgentContext;

/// Replies with the type and payload of the message.
#[derive(Debug, Clone, Copy, Default)]
pub struct EchoAgent;

impl EchoAgent {
    /// The agent type in its record.
    pub const TYPE: &'static str = "echo";
}

impl QueueAgent for EchoAgent {
    async fn process(
        &self,
        _context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> Result<Option<AgentReply>, AgentError> {
        let message = &envelope.message;
        Ok(Some(AgentReply { kind: message.kind.clone(), payload: message.payload.clone() }))
    }
}
