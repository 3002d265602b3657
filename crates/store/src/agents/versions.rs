//! Agent versions: every change of an agent stores an immutable version, so that a
//! run records by number which one it used.

use ostler_domain::agent::Agent;
use ostler_domain::id::AgentId;
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};

/// A version of an agent's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentVersion {
    pub version: u32,
    /// Includes its tool policy.
    pub agent: Agent,
    pub saved_at: Timestamp,
}

/// Saving an unchanged agent finds its version already stored.
const INSERT: Sql = sql!(
    "INSERT INTO agent_versions (org, agent, version, data, saved_at)
     VALUES (?1, ?2, ?3, ?4, now_ms()) ON CONFLICT (org, agent, version) DO NOTHING"
);
const LIST: Sql = sql!(
    "SELECT version, data, saved_at FROM agent_versions
     WHERE org = ?1 AND agent = ?2 AND version <= ?3 ORDER BY version DESC LIMIT ?4"
);

impl OrgStore<'_> {
    /// Returns the newest version of an agent.
    pub async fn agent_version(&self, id: AgentId) -> Result<AgentVersion> {
        let newest = self.agent_versions(id, u32::MAX, 1).await?;
        newest.into_iter().next().ok_or(StoreError::NotFound("agent"))
    }

    /// Returns one version of an agent.
    pub async fn agent_at(&self, id: AgentId, version: u32) -> Result<AgentVersion> {
        let found = self.agent_versions(id, version, 1).await?.into_iter().next();
        let exact = found.filter(|found| found.version == version);
        exact.ok_or(StoreError::NotFound("version of this agent"))
    }

    /// Returns the versions of an agent up to `upto`, newest first.
    pub fn agent_versions(
        &self,
        id: AgentId,
        upto: u32,
        limit: u32,
    ) -> StoreFuture<Vec<AgentVersion>> {
        self.rows(&LIST, [id.into(), upto.into(), limit.into()], read_version)
    }
}

/// Stores a version unless it exists.
pub(crate) fn insert_version(tx: &Tx, agent: &Agent, version: u32, data: Value) -> Result<()> {
    tx.execute(&INSERT, &[agent.org.into(), agent.id.into(), version.into(), data])?;
    Ok(())
}

fn read_version(row: &Row) -> Result<AgentVersion> {
    Ok(AgentVersion {
        version: row.version(0)?,
        agent: row.json(1, "agent")?,
        saved_at: row.time(2)?,
    })
}
