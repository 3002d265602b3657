//! The registry in the store.

use ostler_bus::BoxFuture;
use ostler_domain::dispatch::choice::Capability;
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::time::Timestamp;
use ostler_store::{AgentsPlace, QueueAgent, StoreError};

use super::{Stored, length, most, unreadable};
use crate::queue::error::{QueueError, Result};
use crate::queue::page::Page;
use crate::queue::registry::{AgentRecord, Coverage, Placement, Presence, Registry};
use crate::queue::spec::TeamWork;

impl Registry for Stored {
    fn register(&self, record: AgentRecord) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let name = record.name.clone();
            match self.there().save_queue_agent(written(record)?).await {
                Err(StoreError::Conflict(_)) => Err(QueueError::Placement(name)),
                saved => Ok(saved?),
            }
        })
    }

    fn renew<'a>(&'a self, present: &'a [Presence], until: Timestamp) -> BoxFuture<'a, Result<()>> {
        let present = present.iter().map(|one| (one.name.clone(), one.load)).collect();
        Box::pin(async move { Ok(self.there().renew_queue_agents(present, until).await?) })
    }

    fn withdraw<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { Ok(self.there().withdraw_queue_agent(name).await?) })
    }

    fn remove<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { Ok(self.there().forget_queue_agent(name).await?) })
    }

    fn get<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<Option<AgentRecord>>> {
        Box::pin(async move { self.there().queue_agent(name).await?.map(read).transpose() })
    }

    fn able<'a>(
        &'a self,
        capability: &'a Capability,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<AgentRecord>>> {
        Box::pin(async move {
            let found = self.there().queue_agents_able(capability, now, most(limit)).await?;
            found.into_iter().map(read).collect()
        })
    }

    fn coverage(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Coverage>>> {
        Box::pin(async move {
            let found = self.there().queue_coverage(now, most(limit)).await?.into_iter();
            let coverage = |one: ostler_store::AgentsAble| {
                let ostler_store::AgentsAble { capability, there, away } = one;
                Coverage { capability, there, away }
            };
            Ok(found.map(coverage).collect())
        })
    }

    fn list(&self, page: Page<AgentName>) -> BoxFuture<'_, Result<Vec<AgentRecord>>> {
        Box::pin(async move {
            let found = self.there().queue_agents(page.after.as_ref(), length(&page)).await?;
            found.into_iter().map(read).collect()
        })
    }
}

fn written(record: AgentRecord) -> Result<QueueAgent> {
    Ok(QueueAgent {
        name: record.name,
        agent_type: record.agent_type,
        place: match record.placement {
            Placement::Pinned => AgentsPlace::Pinned,
            Placement::Hosted => AgentsPlace::Hosted,
        },
        capabilities: record.capabilities,
        availability: record.availability,
        available_until: record.available_until,
        at_once: record.at_once,
        load: record.load,
        config: serde_json::to_string(&record.config).map_err(unreadable)?,
        shares_work: record.team_work == TeamWork::Shared,
    })
}

fn read(agent: QueueAgent) -> Result<AgentRecord> {
    Ok(AgentRecord {
        name: agent.name,
        agent_type: agent.agent_type,
        capabilities: agent.capabilities,
        placement: match agent.place {
            AgentsPlace::Pinned => Placement::Pinned,
            AgentsPlace::Hosted => Placement::Hosted,
        },
        at_once: agent.at_once,
        config: serde_json::from_str(&agent.config).map_err(unreadable)?,
        team_work: if agent.shares_work { TeamWork::Shared } else { TeamWork::Own },
        availability: agent.availability,
        available_until: agent.available_until,
        load: agent.load,
    })
}
