//! The registry of queue agents, by name and by capability.
//!
//! The availability of an agent expires unless the process that runs it renews it.

use std::collections::BTreeSet;

use ostler_domain::id::OrgId;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::selection::{AgentSkill, Availability, Placement, SkillCoverage};
use ostler_domain::time::Timestamp;

use super::{MAX_BYTES, check_count, check_size, variant_name};
use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

/// A registered queue agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredQueueAgent {
    /// Also its address.
    pub name: AgentName,
    /// The registered type that implements it.
    pub agent_type: String,
    /// Where its messages wait.
    pub placement: Placement,
    pub capabilities: BTreeSet<AgentSkill>,
    /// As last reported.
    pub availability: Availability,
    /// When the availability lapses; `None`: never.
    pub available_until: Option<Timestamp>,
    /// The number of messages handled at once.
    pub concurrency: u32,
    /// Messages in work or waiting, as last reported.
    pub load: u64,
    /// JSON.
    pub config: String,
    /// Whether it consumes work addressed to any member of its team.
    pub shares_work: bool,
}

const WHAT: &str = "queue agent";

macro_rules! columns {
    () => {
        "SELECT a.name, a.agent_type, a.placement, a.capabilities, a.availability,
           a.available_until, a.concurrency, a.load, a.config, a.shares_work FROM queue_agents a "
    };
}

/// Whether an agent is available at the time `?2`.
macro_rules! is_available {
    () => {
        "CASE WHEN a.availability = 'available'
           AND (a.available_until IS NULL OR a.available_until > ?2) THEN 1 ELSE 0 END"
    };
}

/// Changes no row if the agent exists with another placement.
const SAVE: Sql = sql!(
    "INSERT INTO queue_agents (org, name, agent_type, placement, capabilities, availability,
       available_until, concurrency, load, config, shares_work, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, now_ms())
     ON CONFLICT (org, name) DO UPDATE SET agent_type = excluded.agent_type,
       capabilities = excluded.capabilities, availability = excluded.availability,
       available_until = excluded.available_until, concurrency = excluded.concurrency,
       load = excluded.load, config = excluded.config,
       shares_work = excluded.shares_work, updated_at = excluded.updated_at
     WHERE queue_agents.placement = excluded.placement"
);
const DELETE_CAPABILITIES: Sql =
    sql!("DELETE FROM queue_capabilities WHERE org = ?1 AND agent = ?2");
const ADD_CAPABILITY: Sql =
    sql!("INSERT INTO queue_capabilities (org, agent, capability) VALUES (?1, ?2, ?3)");
const DELETE: Sql = sql!("DELETE FROM queue_agents WHERE org = ?1 AND name = ?2");
const RENEW: Sql = sql!(
    "UPDATE queue_agents SET availability = 'available', load = ?3,
       available_until = CASE WHEN placement = 'pinned' THEN CAST(?4 AS BIGINT) END,
       updated_at = now_ms()
     WHERE org = ?1 AND name = ?2"
);
const WITHDRAW: Sql = sql!(
    "UPDATE queue_agents SET availability = 'unavailable', updated_at = now_ms()
     WHERE org = ?1 AND name = ?2"
);
const GET: Sql = sql!(concat!(columns!(), "WHERE a.org = ?1 AND a.name = ?2"));
const LIST: Sql =
    sql!(concat!(columns!(), "WHERE a.org = ?1 AND a.name > ?2 ORDER BY a.name LIMIT ?3"));
const WITH_CAPABILITY: Sql = sql!(concat!(
    columns!(),
    "JOIN queue_capabilities c ON c.org = a.org AND c.agent = a.name
     WHERE c.org = ?1 AND c.capability = ?3
     ORDER BY ",
    is_available!(),
    " DESC, a.load, a.name LIMIT ?4"
));
const COVERAGE: Sql = sql!(concat!(
    "SELECT c.capability, sum(",
    is_available!(),
    "), count(*) FROM queue_capabilities c
     JOIN queue_agents a ON a.org = c.org AND a.name = c.agent
     WHERE c.org = ?1 GROUP BY c.capability ORDER BY c.capability LIMIT ?3"
));

impl OrgStore<'_> {
    /// Registers or replaces an agent. Fails with [`StoreError::Conflict`] if one of the same
    /// name has another placement.
    pub fn save_queue_agent(&self, agent: StoredQueueAgent) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| save_agent(tx, org, &agent))
    }

    /// Returns an agent by its name.
    pub fn queue_agent(&self, name: &AgentName) -> StoreFuture<Option<StoredQueueAgent>> {
        self.optional(&GET, [name.as_str().into()], read_agent)
    }

    /// Returns the agents after `after`, ordered by name.
    pub fn queue_agents(
        &self,
        after: Option<&AgentName>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredQueueAgent>> {
        let after = after.map_or("", AgentName::as_str);
        self.rows(&LIST, [after.into(), limit.into()], read_agent)
    }

    /// Returns the agents with a capability: available ones first, then the least busy, then
    /// by name.
    pub fn queue_agents_with_capability(
        &self,
        capability: &AgentSkill,
        now: Timestamp,
        limit: u32,
    ) -> StoreFuture<Vec<StoredQueueAgent>> {
        self.rows(&WITH_CAPABILITY, [now.into(), text(capability), limit.into()], read_agent)
    }

    /// Returns how many agents are available and unavailable for each capability, ordered by
    /// capability.
    pub fn capability_coverage(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> StoreFuture<Vec<SkillCoverage>> {
        self.rows(&COVERAGE, [now.into(), limit.into()], read_coverage)
    }

    /// Renews the availability and load of agents until a time; unregistered agents are
    /// skipped. May be lost in a crash of the server, since it is repeated soon.
    pub fn renew_queue_agents(
        &self,
        mut loads: Vec<(AgentName, u64)>,
        until: Timestamp,
    ) -> StoreFuture<()> {
        // Concurrent renewals lock the rows in the same order.
        loads.sort();
        let renew = |(name, load): (AgentName, u64)| {
            let params = vec![self.org.into(), name.as_str().into(), number(load), until.into()];
            Statement { sql: &RENEW, params, on_no_rows: None }
        };
        let batch: Vec<_> = loads.into_iter().map(renew).collect();
        self.write_later(move |tx| tx.finish(&batch).map(drop))
    }

    /// Marks an agent as unavailable; returns whether it exists.
    pub fn withdraw_queue_agent(&self, name: &AgentName) -> StoreFuture<bool> {
        let (org, name) = (self.org, name.clone());
        self.write(move |tx| withdraw(tx, org, &name))
    }

    /// Deletes an agent; returns whether it existed.
    pub fn delete_queue_agent(&self, name: &AgentName) -> StoreFuture<bool> {
        let (org, name) = (self.org, name.clone());
        self.write(move |tx| delete(tx, org, &name))
    }
}

pub(crate) fn withdraw(tx: &Tx, org: OrgId, name: &AgentName) -> Result<bool> {
    Ok(tx.execute(&WITHDRAW, &[org.into(), name.as_str().into()])? > 0)
}

pub(crate) fn delete(tx: &Tx, org: OrgId, name: &AgentName) -> Result<bool> {
    let key = || vec![org.into(), name.as_str().into()];
    let delete = |sql| Statement { sql, params: key(), on_no_rows: None };
    let rows = tx.batch(&[delete(&DELETE), delete(&DELETE_CAPABILITIES)])?;
    Ok(rows.first().is_some_and(|rows| *rows > 0))
}

pub(crate) fn save_agent(tx: &Tx, org: OrgId, agent: &StoredQueueAgent) -> Result<()> {
    check_size("configuration of an agent", &agent.config, MAX_BYTES)?;
    check_size("type of an agent", &agent.agent_type, MAX_BYTES)?;
    check_count("capabilities of an agent", agent.capabilities.len())?;
    // Concurrent writers of this agent wait here.
    if tx.execute(&SAVE, &agent.params(org)?)? == 0 {
        let what = format!("agent `{}` with another placement", agent.name);
        return Err(StoreError::Conflict(what));
    }
    tx.finish(&agent.capability_statements(org)).map(drop)
}

impl StoredQueueAgent {
    fn params(&self, org: OrgId) -> Result<[Value; 11]> {
        Ok([
            org.into(),
            self.name.as_str().into(),
            self.agent_type.as_str().into(),
            self.placement.name().into(),
            Value::json(&self.capabilities)?,
            variant_name(&self.availability)?,
            self.available_until.into(),
            self.concurrency.into(),
            number(self.load),
            self.config.as_str().into(),
            i64::from(self.shares_work).into(),
        ])
    }

    /// The statements that rewrite the capability index of the agent.
    fn capability_statements(&self, org: OrgId) -> Vec<Statement> {
        let key = vec![org.into(), self.name.as_str().into()];
        let mut batch =
            vec![Statement { sql: &DELETE_CAPABILITIES, params: key, on_no_rows: None }];
        batch.extend(self.capabilities.iter().map(|capability| {
            let params = vec![org.into(), self.name.as_str().into(), text(capability)];
            Statement { sql: &ADD_CAPABILITY, params, on_no_rows: None }
        }));
        batch
    }
}

fn number(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn text(capability: &AgentSkill) -> Value {
    String::from(capability.clone()).into()
}

fn read_agent(row: &Row) -> Result<StoredQueueAgent> {
    let available = row.text(4)? == "available";
    Ok(StoredQueueAgent {
        name: row.parsed(0, WHAT)?,
        agent_type: row.text(1)?.to_owned(),
        placement: read_placement(row.text(2)?)?,
        capabilities: row.json(3, WHAT)?,
        availability: if available { Availability::Available } else { Availability::Unavailable },
        available_until: row.opt_time(5)?,
        concurrency: u32::try_from(row.int(6)?).unwrap_or(u32::MAX),
        load: u64::try_from(row.int(7)?).unwrap_or_default(),
        config: row.text(8)?.to_owned(),
        shares_work: row.int(9)? != 0,
    })
}

fn read_placement(name: &str) -> Result<Placement> {
    let why = || format!("`{name}` is not a placement");
    Placement::named(name).ok_or_else(|| StoreError::CorruptValue { what: WHAT, why: why() })
}

fn read_coverage(row: &Row) -> Result<SkillCoverage> {
    let (available, all) = (row.int(1)?, row.int(2)?);
    let count = |count| u64::try_from(count).unwrap_or_default();
    Ok(SkillCoverage {
        capability: row.text(0)?.into(),
        available: count(available),
        unavailable: count(all - available),
    })
}
