//! The registry of agents on queues: by name, and by what they can do.
//!
//! Whether an agent takes work is a promise with an end, which whoever runs it
//! renews.

use std::collections::BTreeSet;

use ostler_domain::dispatch::choice::{Availability, Capability};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::id::OrgId;
use ostler_domain::time::Timestamp;

use super::{MOST_BYTES, check_count, check_size, name_of};
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};

/// Where an agent's messages wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentsPlace {
    /// In a queue of its own.
    Pinned,
    /// In a queue that it shares with others.
    Hosted,
}

impl AgentsPlace {
    const fn name(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Hosted => "hosted",
        }
    }

    fn named(name: &str) -> Result<Self> {
        let known = [Self::Pinned, Self::Hosted].into_iter().find(|one| one.name() == name);
        let why = || format!("`{name}` is no place for its messages");
        known.ok_or_else(|| StoreError::Unreadable { what: WHAT, why: why() })
    }
}

/// An agent on a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueAgent {
    /// Its name, which is its address.
    pub name: AgentName,
    /// Which program it is.
    pub agent_type: String,
    /// Where its messages wait.
    pub place: AgentsPlace,
    /// What it can do.
    pub capabilities: BTreeSet<Capability>,
    /// Whether it takes work, as last heard.
    pub availability: Availability,
    /// Until when that holds, if it has an end.
    pub available_until: Option<Timestamp>,
    /// How many messages it handles at once.
    pub at_once: u32,
    /// Messages that it has in work or waiting, as last heard.
    pub load: u64,
    /// What its program is told, as JSON.
    pub config: String,
    /// Whether it takes what is meant for any member of its team.
    pub shares_work: bool,
}

/// How many agents can do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentsAble {
    /// What they can do.
    pub capability: Capability,
    /// How many take work.
    pub there: u64,
    /// How many do not.
    pub away: u64,
}

const WHAT: &str = "agent on a queue";

macro_rules! columns {
    () => {
        "SELECT a.name, a.agent_type, a.placement, a.capabilities, a.availability,
           a.available_until, a.at_once, a.load, a.config, a.shares_work FROM queue_agents a "
    };
}

/// Whether an agent takes work at the moment `?2`.
macro_rules! is_there {
    () => {
        "CASE WHEN a.availability = 'available'
           AND (a.available_until IS NULL OR a.available_until > ?2) THEN 1 ELSE 0 END"
    };
}

/// Touches no row if one is there with another placement.
const SAVE: Sql = sql!(
    "INSERT INTO queue_agents (org, name, agent_type, placement, capabilities, availability,
       available_until, at_once, load, config, shares_work, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, now_ms())
     ON CONFLICT (org, name) DO UPDATE SET agent_type = excluded.agent_type,
       capabilities = excluded.capabilities, availability = excluded.availability,
       available_until = excluded.available_until, at_once = excluded.at_once,
       load = excluded.load, config = excluded.config,
       shares_work = excluded.shares_work, updated_at = excluded.updated_at
     WHERE queue_agents.placement = excluded.placement"
);
const FORGET_CAPABILITIES: Sql =
    sql!("DELETE FROM queue_capabilities WHERE org = ?1 AND agent = ?2");
const ADD_CAPABILITY: Sql =
    sql!("INSERT INTO queue_capabilities (org, agent, capability) VALUES (?1, ?2, ?3)");
const FORGET: Sql = sql!("DELETE FROM queue_agents WHERE org = ?1 AND name = ?2");
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
const ABLE: Sql = sql!(concat!(
    columns!(),
    "JOIN queue_capabilities c ON c.org = a.org AND c.agent = a.name
     WHERE c.org = ?1 AND c.capability = ?3
     ORDER BY ",
    is_there!(),
    " DESC, a.load, a.name LIMIT ?4"
));
const COVERAGE: Sql = sql!(concat!(
    "SELECT c.capability, sum(",
    is_there!(),
    "), count(*) FROM queue_capabilities c
     JOIN queue_agents a ON a.org = c.org AND a.name = c.agent
     WHERE c.org = ?1 GROUP BY c.capability ORDER BY c.capability LIMIT ?3"
));

impl OrgStore<'_> {
    /// Registers an agent. One of the same name is replaced, unless its messages
    /// wait in another place: that is a conflict.
    pub async fn save_queue_agent(&self, agent: QueueAgent) -> Result<()> {
        self.store.write(Save(self.org, agent)).await
    }

    /// An agent by its name.
    pub async fn queue_agent(&self, name: &AgentName) -> Result<Option<QueueAgent>> {
        self.store.read(Get(self.org, name.clone())).await
    }

    /// The agents after one of them, in the order of their names.
    pub async fn queue_agents(
        &self,
        after: Option<&AgentName>,
        most: u32,
    ) -> Result<Vec<QueueAgent>> {
        self.store.read(List(self.org, after.cloned(), most)).await
    }

    /// Whoever can do something: those that take work at this moment before
    /// those that do not, the least busy first, then by name.
    pub async fn queue_agents_able(
        &self,
        capability: &Capability,
        now: Timestamp,
        most: u32,
    ) -> Result<Vec<QueueAgent>> {
        self.store.read(Able(self.org, capability.clone(), now, most)).await
    }

    /// For each capability, by its name, how many take work and how many do not.
    pub async fn queue_coverage(&self, now: Timestamp, most: u32) -> Result<Vec<AgentsAble>> {
        self.store.read(Coverage(self.org, now, most)).await
    }

    /// Agents take work, and have so much to do, until this moment; those that
    /// are not registered are passed over. A crash of the server may lose it,
    /// since it is said again soon.
    pub async fn renew_queue_agents(
        &self,
        mut present: Vec<(AgentName, u64)>,
        until: Timestamp,
    ) -> Result<()> {
        // Two who renew the same agents hold their rows in the same order.
        present.sort();
        self.store.write(Renew(self.org, present, until)).await
    }

    /// An agent takes no work; says whether there is one.
    pub async fn withdraw_queue_agent(&self, name: &AgentName) -> Result<bool> {
        self.store.write(Withdraw(self.org, name.clone())).await
    }

    /// Forgets an agent; says whether there was one.
    pub async fn forget_queue_agent(&self, name: &AgentName) -> Result<bool> {
        self.store.write(Forget(self.org, name.clone())).await
    }
}

struct Save(OrgId, QueueAgent);

impl Operation for Save {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, agent) = self;
        check_size("configuration of an agent", &agent.config, MOST_BYTES)?;
        check_size("type of an agent", &agent.agent_type, MOST_BYTES)?;
        check_count("capabilities of an agent", agent.capabilities.len())?;
        // Whoever else writes this agent waits here.
        if tx.execute(&SAVE, &agent.params(*org)?).await? == 0 {
            let what = format!("agent `{}`, with another place for its messages,", agent.name);
            return Err(StoreError::Conflict(what));
        }
        tx.finish(&agent.able(*org)).await.map(drop)
    }
}

impl QueueAgent {
    fn params(&self, org: OrgId) -> Result<[Value; 11]> {
        Ok([
            org.into(),
            self.name.as_str().into(),
            self.agent_type.as_str().into(),
            self.place.name().into(),
            Value::json(&self.capabilities)?,
            name_of(&self.availability)?,
            self.available_until.into(),
            self.at_once.into(),
            number(self.load),
            self.config.as_str().into(),
            i64::from(self.shares_work).into(),
        ])
    }

    /// What makes it found by what it can do.
    fn able(&self, org: OrgId) -> Vec<Statement> {
        let place = vec![org.into(), self.name.as_str().into()];
        let mut batch = vec![Statement { sql: &FORGET_CAPABILITIES, params: place, must: None }];
        batch.extend(self.capabilities.iter().map(|capability| {
            let params = vec![org.into(), self.name.as_str().into(), text(capability)];
            Statement { sql: &ADD_CAPABILITY, params, must: None }
        }));
        batch
    }
}

struct Get(OrgId, AgentName);

impl Operation for Get {
    type Output = Option<QueueAgent>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<QueueAgent>> {
        let row = tx.first(&GET, &[self.0.into(), self.1.as_str().into()]).await?;
        row.as_ref().map(agent).transpose()
    }
}

struct List(OrgId, Option<AgentName>, u32);

impl Operation for List {
    type Output = Vec<QueueAgent>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<QueueAgent>> {
        let after = self.1.as_ref().map_or("", AgentName::as_str);
        let params = [self.0.into(), after.into(), self.2.into()];
        tx.query(&LIST, &params).await?.iter().map(agent).collect()
    }
}

struct Able(OrgId, Capability, Timestamp, u32);

impl Operation for Able {
    type Output = Vec<QueueAgent>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<QueueAgent>> {
        let params = [self.0.into(), self.2.into(), text(&self.1), self.3.into()];
        tx.query(&ABLE, &params).await?.iter().map(agent).collect()
    }
}

struct Coverage(OrgId, Timestamp, u32);

impl Operation for Coverage {
    type Output = Vec<AgentsAble>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<AgentsAble>> {
        let rows = tx.query(&COVERAGE, &[self.0.into(), self.1.into(), self.2.into()]).await?;
        let read = |row: &Row| {
            let (there, all) = (row.int(1)?, row.int(2)?);
            let count = |count| u64::try_from(count).unwrap_or_default();
            let capability = row.text(0)?.into();
            Ok(AgentsAble { capability, there: count(there), away: count(all - there) })
        };
        rows.iter().map(read).collect()
    }
}

struct Renew(OrgId, Vec<(AgentName, u64)>, Timestamp);

impl Operation for Renew {
    type Output = ();

    const FLUSHED: bool = false;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, present, until) = self;
        let renew = |(name, load): &(AgentName, u64)| {
            let params = vec![(*org).into(), name.as_str().into(), number(*load), (*until).into()];
            Statement { sql: &RENEW, params, must: None }
        };
        tx.finish(&present.iter().map(renew).collect::<Vec<_>>()).await.map(drop)
    }
}

struct Withdraw(OrgId, AgentName);

impl Operation for Withdraw {
    type Output = bool;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<bool> {
        let touched = tx.execute(&WITHDRAW, &[self.0.into(), self.1.as_str().into()]).await?;
        Ok(touched > 0)
    }
}

struct Forget(OrgId, AgentName);

impl Operation for Forget {
    type Output = bool;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<bool> {
        let place = || vec![self.0.into(), self.1.as_str().into()];
        let forget = |sql| Statement { sql, params: place(), must: None };
        let touched = tx.finish(&[forget(&FORGET), forget(&FORGET_CAPABILITIES)]).await?;
        Ok(touched.first().is_some_and(|rows| *rows > 0))
    }
}

fn number(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn text(capability: &Capability) -> Value {
    String::from(capability.clone()).into()
}

fn agent(row: &Row) -> Result<QueueAgent> {
    let available = row.text(4)? == "available";
    Ok(QueueAgent {
        name: row.written(0, WHAT)?,
        agent_type: row.text(1)?.to_owned(),
        place: AgentsPlace::named(row.text(2)?)?,
        capabilities: row.json(3, WHAT)?,
        availability: if available { Availability::Available } else { Availability::Unavailable },
        available_until: row.opt_time(5)?,
        at_once: u32::try_from(row.int(6)?).unwrap_or(u32::MAX),
        load: u64::try_from(row.int(7)?).unwrap_or_default(),
        config: row.text(8)?.to_owned(),
        shares_work: row.int(9)? != 0,
    })
}
