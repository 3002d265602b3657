//! Which agent gets work: of those that can do it and are there, the one with
//! the least to do.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, now};
use ostler_domain::dispatch::choice::{Candidate, Capability, choose};
use ostler_domain::dispatch::name::AgentName;

use super::AgentRuntime;
use crate::queue::error::Result;
use crate::queue::harness::Harness;
use crate::queue::registry::AgentRecord;

/// How many agents are looked at for one piece of work.
const LOOKED_AT: usize = 16;

impl AgentRuntime {
    /// The agent that gets work of this capability now.
    pub async fn able(&self, capability: &Capability) -> Result<AgentName> {
        self.choose(capability, None).await
    }

    /// Sends a message to whoever can do something and has the least to do.
    pub async fn send_to_able(
        &self,
        capability: &Capability,
        envelope: Envelope,
    ) -> Result<AgentName> {
        let agent = self.able(capability).await?;
        self.send(&agent, envelope).await?;
        Ok(agent)
    }

    /// Asks whoever can do something and has the least to do.
    pub async fn ask_able(
        &self,
        capability: &Capability,
        envelope: Envelope,
        patience: Duration,
    ) -> Result<Arc<Envelope>> {
        let agent = self.able(capability).await?;
        self.ask(&agent, envelope, patience).await
    }

    pub(in crate::queue) async fn choose(
        &self,
        capability: &Capability,
        except: Option<&AgentName>,
    ) -> Result<AgentName> {
        let now = now();
        let records = self.0.registry.able(capability, now, LOOKED_AT).await?;
        let mut candidates: Vec<Candidate> = Vec::new();
        for record in records.iter().filter(|record| Some(&record.name) != except) {
            let candidate = record.candidate(now);
            candidates.push(Candidate { load: self.load_of(record).await?, ..candidate });
        }
        Ok(choose(capability, &candidates)?.name.clone())
    }

    /// What an agent has to do: as it is for those that run here, as last heard
    /// for the others.
    async fn load_of(&self, record: &AgentRecord) -> Result<u64> {
        match self.harness(&record.name) {
            Some(harness) => self.load(&harness).await,
            None => Ok(record.load),
        }
    }

    pub(super) async fn load(&self, harness: &Harness) -> Result<u64> {
        let waiting = self.0.bus.depth(&harness.queue).await?.total();
        Ok(waiting + u64::from(harness.in_work()))
    }
}
