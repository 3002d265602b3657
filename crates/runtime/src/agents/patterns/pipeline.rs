//! One agent after the other: each reply is the request to the next.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::Envelope;
use ostler_domain::queue_agent::name::AgentName;
use tokio::time::Instant;

use crate::agents::error::Result;
use crate::agents::runtime::AgentRuntime;

impl AgentRuntime {
    /// Passes a message through all stages within `timeout` and returns the
    /// last reply. Without stages it returns the message itself.
    pub async fn pipeline(
        &self,
        stages: &[AgentName],
        envelope: Envelope,
        timeout: Duration,
    ) -> Result<Arc<Envelope>> {
        let deadline = Instant::now() + timeout;
        let mut current = Arc::new(envelope);
        for (number, stage) in stages.iter().enumerate() {
            let next = if number == 0 { (*current).clone() } else { following(&current) };
            let left = deadline.saturating_duration_since(Instant::now());
            current = self.ask(stage, next, left).await?;
        }
        Ok(current)
    }
}

/// Turns the reply of a stage into the request to the next, keeping its sender.
fn following(reply: &Envelope) -> Envelope {
    let mut next = reply.reply(reply.message.kind.clone(), reply.message.payload.clone());
    next.context.from_agent.clone_from(&reply.context.from_agent);
    next.sla_deadline = reply.sla_deadline;
    next
}
