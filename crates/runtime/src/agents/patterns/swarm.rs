//! Work for whichever member of a team is free first.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, QueueName};
use ostler_domain::queue_agent::name::TeamName;

use crate::agents::error::Result;
use crate::agents::runtime::AgentRuntime;
use crate::trace_context;

impl AgentRuntime {
    /// Sends a message to one member of a team that shares its work, whichever
    /// is free first. It waits until one is.
    pub async fn send_to_team(&self, team: &TeamName, mut envelope: Envelope) -> Result<()> {
        envelope.context.team = Some(team.clone());
        trace_context::inject(&mut envelope);
        Ok(self.bus().publish(&QueueName::team_work(team), Arc::new(envelope)).await?)
    }

    /// Like [`send_to_team`](Self::send_to_team), and waits for the reply.
    pub async fn ask_team(
        &self,
        team: &TeamName,
        mut envelope: Envelope,
        timeout: Duration,
    ) -> Result<Arc<Envelope>> {
        envelope.context.team = Some(team.clone());
        trace_context::inject(&mut envelope);
        Ok(self.bus().request(&QueueName::team_work(team), envelope, timeout).await?)
    }
}
