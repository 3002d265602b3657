//! Agents and their soul versions.

use ostler_domain::agent::Agent;
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::soul::SoulVersion;

use crate::OrgStore;
use crate::agents::versions;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::{Result, StoreError};

/// Writes the row even without a change, so that concurrent saves are serialized.
const SAVE: Sql = sql!(
    "INSERT INTO agents (org, id, slug, data, version) VALUES (?1, ?2, ?3, ?4, 1)
     ON CONFLICT (org, id) DO UPDATE SET slug = excluded.slug, data = excluded.data,
       version = agents.version + CASE WHEN agents.data = excluded.data THEN 0 ELSE 1 END
     RETURNING version"
);
const GET: Sql = sql!("SELECT data FROM agents WHERE org = ?1 AND id = ?2");
const LIST: Sql = sql!("SELECT data FROM agents WHERE org = ?1 ORDER BY id");
const NEWEST_SOUL_VERSION: Sql =
    sql!("SELECT coalesce(max(version), 0) FROM soul_versions WHERE org = ?1 AND owner = ?2");
const PUSH_SOUL: Sql =
    sql!("INSERT INTO soul_versions (org, owner, version, data) VALUES (?1, ?2, ?3, ?4)");
const LIST_SOUL_VERSIONS: Sql =
    sql!("SELECT data FROM soul_versions WHERE org = ?1 AND owner = ?2 ORDER BY version");

impl OrgStore<'_> {
    /// Creates or replaces an agent and returns its version. Saving it unchanged
    /// keeps the version. Fails with [`StoreError::Conflict`] if another agent of the
    /// org has its slug.
    pub async fn save_agent(&self, agent: Agent) -> Result<u32> {
        if agent.org != self.org {
            return Err(StoreError::NotFound("agent"));
        }
        self.write(move |tx| save(tx, &agent)).await
    }

    /// Returns an agent of this org.
    pub fn agent(&self, id: AgentId) -> StoreFuture<Agent> {
        let org = self.org;
        self.read(move |tx| get(tx, org, id))
    }

    /// Returns every agent of this org, ordered by id.
    pub fn agents(&self) -> StoreFuture<Vec<Agent>> {
        self.rows(&LIST, [], |row| row.json(0, "agent"))
    }

    /// Stores the next version of a soul. Fails with [`StoreError::Conflict`] if the
    /// version is not the next one.
    pub fn push_soul(&self, owner: AgentId, version: SoulVersion) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| push_soul(tx, org, owner, &version))
    }

    /// Returns every version of a soul, from 1.
    pub fn soul_versions(&self, owner: AgentId) -> StoreFuture<Vec<SoulVersion>> {
        let org = self.org;
        self.read(move |tx| soul_versions(tx, org, owner))
    }
}

/// Creates or replaces an agent, inside a transaction, and returns its version.
pub(crate) fn save(tx: &Tx, agent: &Agent) -> Result<u32> {
    let data = Value::json(agent)?;
    let params = [agent.org.into(), agent.id.into(), agent.slug.as_str().into(), data.clone()];
    let saved = tx.first(&SAVE, &params).map_err(|error| match error {
        StoreError::Conflict(_) => StoreError::Conflict(format!("agent `{}`", agent.slug)),
        other => other,
    })?;
    let version = saved.ok_or(StoreError::NotFound("agent"))?.version(0)?;
    versions::insert_version(tx, agent, version, data)?;
    Ok(version)
}

/// Returns an agent, inside a transaction.
pub(crate) fn get(tx: &Tx, org: OrgId, id: AgentId) -> Result<Agent> {
    let row = tx.first(&GET, &[org.into(), id.into()])?;
    row.ok_or(StoreError::NotFound("agent"))?.json(0, "agent")
}

/// Stores the next version of a soul, inside a transaction.
pub(crate) fn push_soul(tx: &Tx, org: OrgId, owner: AgentId, version: &SoulVersion) -> Result<()> {
    let number = version.version;
    let stale = || StoreError::Conflict(format!("version {number} of this soul"));
    let newest = tx.first(&NEWEST_SOUL_VERSION, &[org.into(), owner.into()])?;
    if newest.map_or(Ok(0), |row| row.int(0))? + 1 != i64::from(number) {
        return Err(stale());
    }
    // Of two concurrent writers the primary key lets one pass.
    let params = [org.into(), owner.into(), number.into(), Value::json(version)?];
    match tx.execute(&PUSH_SOUL, &params) {
        Err(StoreError::Conflict(_)) => Err(stale()),
        other => other.map(|_| ()),
    }
}

/// Returns every version of a soul, inside a transaction.
pub(crate) fn soul_versions(tx: &Tx, org: OrgId, owner: AgentId) -> Result<Vec<SoulVersion>> {
    let rows = tx.query(&LIST_SOUL_VERSIONS, &[org.into(), owner.into()])?;
    rows.iter().map(|row| row.json(0, "soul")).collect()
}
