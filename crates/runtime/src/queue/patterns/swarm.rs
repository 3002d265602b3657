//! Work for whichever member of a team takes it first.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, QueueName};
use ostler_domain::dispatch::name::TeamName;

use crate::queue::error::Result;
use crate::queue::runtime::AgentRuntime;

impl AgentRuntime {
    /// Gives a message to one member of a team that shares its work, whichever
    /// is free first; it waits until one is.
    pub async fn give_to_team(&self, team: &TeamName, mut envelope: Envelope) -> Result<()> {
        envelope.context.team = Some(team.clone());
        Ok(self.bus().publish(&QueueName::team_work(team), Arc::new(envelope)).await?)
    }

    /// Does the same, and waits for the reply.
    pub async fn ask_team(
        &self,
        team: &TeamName,
        mut envelope: Envelope,
        patience: Duration,
    ) -> Result<Arc<Envelope>> {
        envelope.context.team = Some(team.clone());
        Ok(self.bus().request(&QueueName::team_work(team), envelope, patience).await?)
    }
}
