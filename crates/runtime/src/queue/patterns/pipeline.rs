//! One agent after the other: what one replies is what the next is asked.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::Envelope;
use ostler_domain::dispatch::name::AgentName;
use tokio::time::Instant;

use crate::queue::error::Result;
use crate::queue::runtime::AgentRuntime;

impl AgentRuntime {
    /// Has a message go through all stages within this time; the last stage's
    /// reply comes back. Without stages it is the message itself.
    pub async fn pipeline(
        &self,
        stages: &[AgentName],
        envelope: Envelope,
        patience: Duration,
    ) -> Result<Arc<Envelope>> {
        let deadline = Instant::now() + patience;
        let mut current = Arc::new(envelope);
        for (number, stage) in stages.iter().enumerate() {
            let next = if number == 0 { (*current).clone() } else { following(&current) };
            let left = deadline.saturating_duration_since(Instant::now());
            current = self.ask(stage, next, left).await?;
        }
        Ok(current)
    }
}

/// A stage's reply as the next stage's request. Who replied stays its sender.
fn following(reply: &Envelope) -> Envelope {
    let mut next = reply.reply(reply.message.kind.clone(), reply.message.payload.clone());
    next.context.from_agent.clone_from(&reply.context.from_agent);
    next.sla_deadline = reply.sla_deadline;
    next
}
