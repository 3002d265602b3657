//! Selects the agent for work: among the available agents with the capability,
//! the least loaded one.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, now};
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::selection::{AgentSkill, DelegationCandidate, select_agent};

use super::AgentRuntime;
use crate::agents::error::Result;
use crate::agents::harness::QueueAgentHarness;
use crate::agents::registry::AgentRecord;

/// Maximum number of agents considered.
const MAX_CANDIDATES: usize = 16;

impl AgentRuntime {
    /// Returns the agent that would get work for this capability now.
    pub async fn find_capable(&self, capability: &AgentSkill) -> Result<AgentName> {
        self.choose(capability, None).await
    }

    /// Sends a message to the least loaded agent with a capability and returns
    /// its name.
    pub async fn send_by_capability(
        &self,
        capability: &AgentSkill,
        envelope: Envelope,
    ) -> Result<AgentName> {
        let agent = self.find_capable(capability).await?;
        self.send(&agent, envelope).await?;
        Ok(agent)
    }

    /// Sends a message to the least loaded agent with a capability and waits
    /// for the reply.
    pub async fn ask_by_capability(
        &self,
        capability: &AgentSkill,
        envelope: Envelope,
        timeout: Duration,
    ) -> Result<Arc<Envelope>> {
        let agent = self.find_capable(capability).await?;
        self.ask(&agent, envelope, timeout).await
    }

    pub(in crate::agents) async fn choose(
        &self,
        capability: &AgentSkill,
        excluding: Option<&AgentName>,
    ) -> Result<AgentName> {
        let now = now();
        let records = self.0.registry.find_by_capability(capability, now, MAX_CANDIDATES).await?;
        let mut candidates: Vec<DelegationCandidate> = Vec::new();
        for record in records.iter().filter(|record| Some(&record.name) != excluding) {
            let candidate = record.candidate(now);
            candidates.push(DelegationCandidate { load: self.load_of(record).await?, ..candidate });
        }
        Ok(select_agent(capability, &candidates)?.name.clone())
    }

    /// Returns the current load of a local agent, or the last reported load of
    /// a remote one.
    async fn load_of(&self, record: &AgentRecord) -> Result<u64> {
        match self.harness(&record.name) {
            Some(harness) => self.load(&harness).await,
            None => Ok(record.load),
        }
    }

    pub(super) async fn load(&self, harness: &QueueAgentHarness) -> Result<u64> {
        let waiting = self.0.bus.depth(&harness.queue).await?.total();
        Ok(waiting + u64::from(harness.in_progress()))
    }
}
