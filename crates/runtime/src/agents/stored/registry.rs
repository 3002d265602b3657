//! The registry in the store.

use ostler_bus::BoxFuture;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::selection::AgentSkill;
use ostler_domain::time::Timestamp;
use ostler_store::{StoreError, StoredQueueAgent};

use super::{StoredRecords, invalid_json, page_limit, to_u32};
use crate::agents::error::{QueueError, Result};
use crate::agents::page::Page;
use crate::agents::registry::{AgentPresence, AgentRecord, Registry, SkillCoverage};
use crate::agents::spec::TeamWork;

impl Registry for StoredRecords {
    fn register(&self, record: AgentRecord) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let name = record.name.clone();
            match self.org_store().save_queue_agent(encode(record)?).await {
                Err(StoreError::Conflict(_)) => Err(QueueError::PlacementConflict(name)),
                saved => Ok(saved?),
            }
        })
    }

    fn renew_presence<'a>(
        &'a self,
        present: &'a [AgentPresence],
        until: Timestamp,
    ) -> BoxFuture<'a, Result<()>> {
        let present = present.iter().map(|one| (one.name.clone(), one.load)).collect();
        Box::pin(async move { Ok(self.org_store().renew_queue_agents(present, until).await?) })
    }

    fn withdraw<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { Ok(self.org_store().withdraw_queue_agent(name).await?) })
    }

    fn remove<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { Ok(self.org_store().delete_queue_agent(name).await?) })
    }

    fn get<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<Option<AgentRecord>>> {
        Box::pin(async move { self.org_store().queue_agent(name).await?.map(decode).transpose() })
    }

    fn find_by_capability<'a>(
        &'a self,
        capability: &'a AgentSkill,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<AgentRecord>>> {
        Box::pin(async move {
            let found = self
                .org_store()
                .queue_agents_with_capability(capability, now, to_u32(limit))
                .await?;
            found.into_iter().map(decode).collect()
        })
    }

    fn coverage(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<SkillCoverage>>> {
        Box::pin(async move { Ok(self.org_store().capability_coverage(now, to_u32(limit)).await?) })
    }

    fn list(&self, page: Page<AgentName>) -> BoxFuture<'_, Result<Vec<AgentRecord>>> {
        Box::pin(async move {
            let found =
                self.org_store().queue_agents(page.after.as_ref(), page_limit(&page)).await?;
            found.into_iter().map(decode).collect()
        })
    }
}

pub(crate) fn encode(record: AgentRecord) -> Result<StoredQueueAgent> {
    Ok(StoredQueueAgent {
        name: record.name,
        agent_type: record.agent_type,
        placement: record.placement,
        capabilities: record.capabilities,
        availability: record.availability,
        available_until: record.available_until,
        concurrency: record.concurrency,
        load: record.load,
        config: serde_json::to_string(&record.config).map_err(invalid_json)?,
        shares_work: record.team_work == TeamWork::Shared,
    })
}

fn decode(agent: StoredQueueAgent) -> Result<AgentRecord> {
    Ok(AgentRecord {
        name: agent.name,
        agent_type: agent.agent_type,
        capabilities: agent.capabilities,
        placement: agent.placement,
        concurrency: agent.concurrency,
        config: serde_json::from_str(&agent.config).map_err(invalid_json)?,
        team_work: if agent.shares_work { TeamWork::Shared } else { TeamWork::Own },
        availability: agent.availability,
        available_until: agent.available_until,
        load: agent.load,
    })
}
