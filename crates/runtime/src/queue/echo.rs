//! The agent that says what it was told: it proves that everything works.

use std::sync::Arc;

use ostler_bus::Envelope;

use super::agent::{Agent, AgentError, Reply};
use super::context::AgentContext;

/// Replies with the message's own type and content.
#[derive(Debug, Clone, Copy, Default)]
pub struct Echo;

impl Echo {
    /// The type under which its records name it.
    pub const TYPE: &'static str = "echo";
}

impl Agent for Echo {
    async fn process(
        &self,
        _context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> Result<Option<Reply>, AgentError> {
        let message = &envelope.message;
        Ok(Some(Reply { kind: message.kind.clone(), payload: message.payload.clone() }))
    }
}
