//! What an agent was: every change of it leaves a version that stays, so that a
//! run can say by a number which one it ran with.

use ostler_domain::agent::Agent;
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

/// A version of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentVersion {
    /// Its number, from 1.
    pub version: u32,
    /// The agent, its tool policy included.
    pub agent: Agent,
    /// When it was saved.
    pub saved_at: Timestamp,
}

/// An agent that was saved without a change has this version already.
const KEEP: Sql = sql!(
    "INSERT INTO agent_versions (org, agent, version, data, saved_at)
     VALUES (?1, ?2, ?3, ?4, now_ms()) ON CONFLICT (org, agent, version) DO NOTHING"
);
const READ: Sql = sql!(
    "SELECT version, data, saved_at FROM agent_versions
     WHERE org = ?1 AND agent = ?2 AND version <= ?3 ORDER BY version DESC LIMIT ?4"
);

impl OrgStore<'_> {
    /// The agent as it is, with the number of its version.
    pub async fn agent_version(&self, id: AgentId) -> Result<AgentVersion> {
        let newest = self.agent_versions(id, u32::MAX, 1).await?;
        newest.into_iter().next().ok_or(StoreError::NotFound("agent"))
    }

    /// The agent as it was.
    pub async fn agent_at(&self, id: AgentId, version: u32) -> Result<AgentVersion> {
        let found = self.agent_versions(id, version, 1).await?.into_iter().next();
        let exact = found.filter(|found| found.version == version);
        exact.ok_or(StoreError::NotFound("version of this agent"))
    }

    /// The versions of an agent up to one of them, newest first.
    pub async fn agent_versions(
        &self,
        id: AgentId,
        upto: u32,
        most: u32,
    ) -> Result<Vec<AgentVersion>> {
        self.store.read(Read { org: self.org, id, upto, most }).await
    }
}

/// Keeps a version for good.
pub(crate) async fn keep<T: Tx>(tx: &T, agent: &Agent, version: u32, data: Value) -> Result<()> {
    tx.execute(&KEEP, &[agent.org.into(), agent.id.into(), version.into(), data]).await?;
    Ok(())
}

struct Read {
    org: OrgId,
    id: AgentId,
    upto: u32,
    most: u32,
}

impl Operation for Read {
    type Output = Vec<AgentVersion>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<AgentVersion>> {
        let params = [self.org.into(), self.id.into(), self.upto.into(), self.most.into()];
        tx.query(&READ, &params).await?.iter().map(version).collect()
    }
}

fn version(row: &Row) -> Result<AgentVersion> {
    Ok(AgentVersion {
        version: row.version(0)?,
        agent: row.json(1, "agent")?,
        saved_at: row.time(2)?,
    })
}
