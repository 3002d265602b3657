//! The registry of agents on queues: by name, by what they can do, by node.

use std::collections::BTreeSet;

use ostler_domain::dispatch::choice::{Availability, Capability};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::id::OrgId;
use ostler_domain::time::Timestamp;

use super::{check_count, check_size, name_of};
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};

/// Whether an agent has a queue of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosting {
    /// It has.
    Pinned,
    /// It shares one and is active only when it has something to do.
    Hosted,
}

impl Hosting {
    const fn name(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Hosted => "hosted",
        }
    }

    fn named(name: &str) -> Result<Self> {
        let known = [Self::Pinned, Self::Hosted].into_iter().find(|one| one.name() == name);
        let why = || format!("`{name}` is no way to host it");
        known.ok_or_else(|| StoreError::Unreadable { what: "agent on a queue", why: why() })
    }
}

/// An agent on a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueAgent {
    /// Its name, which is its address.
    pub name: AgentName,
    /// Which program it is.
    pub agent_type: String,
    /// Whether it has a queue of its own.
    pub hosting: Hosting,
    /// What it can do.
    pub capabilities: BTreeSet<Capability>,
    /// Whether it takes work.
    pub availability: Availability,
    /// How many messages it handles at once.
    pub at_once: u32,
    /// Messages that it has in work or waiting.
    pub load: u64,
    /// The node that runs it, if one does.
    pub node: Option<String>,
    /// What its program is told, as JSON.
    pub config: String,
}

/// An agent as it is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredAgent {
    /// The agent.
    pub agent: QueueAgent,
    /// When anything of it was changed.
    pub updated_at: Timestamp,
}

/// Which agents are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhichAgents {
    /// All of them.
    All,
    /// Those that can do something and take work.
    Able(Capability),
    /// Those that can do something, whether they take work or not.
    With(Capability),
    /// Those that a node runs.
    On(String),
}

macro_rules! columns {
    () => {
        "SELECT a.name, a.agent_type, a.hosting, a.capabilities, a.availability, a.at_once, a.load,
           a.node, a.config, a.updated_at FROM queue_agents a "
    };
}

const SAVE: Sql = sql!(
    "INSERT INTO queue_agents (org, name, agent_type, hosting, capabilities, availability, at_once,
       load, node, config, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, now_ms())
     ON CONFLICT (org, name) DO UPDATE SET agent_type = excluded.agent_type,
       hosting = excluded.hosting, capabilities = excluded.capabilities,
       availability = excluded.availability, at_once = excluded.at_once, load = excluded.load,
       node = excluded.node, config = excluded.config, updated_at = excluded.updated_at"
);
const ADD: Sql = sql!(
    "INSERT INTO queue_agents (org, name, agent_type, hosting, capabilities, availability, at_once,
       load, node, config, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, now_ms())"
);
const FORGET_CAPABILITIES: Sql =
    sql!("DELETE FROM queue_capabilities WHERE org = ?1 AND agent = ?2");
const ADD_CAPABILITY: Sql =
    sql!("INSERT INTO queue_capabilities (org, agent, capability) VALUES (?1, ?2, ?3)");
const FORGET: Sql = sql!("DELETE FROM queue_agents WHERE org = ?1 AND name = ?2");
const SET_AVAILABILITY: Sql = sql!(
    "UPDATE queue_agents SET availability = ?3, updated_at = now_ms() WHERE org = ?1 AND name = ?2"
);
const SET_LOAD: Sql =
    sql!("UPDATE queue_agents SET load = ?3, updated_at = now_ms() WHERE org = ?1 AND name = ?2");
const GET: Sql = sql!(concat!(columns!(), "WHERE a.org = ?1 AND a.name = ?2"));
const ALL: Sql =
    sql!(concat!(columns!(), "WHERE a.org = ?1 AND a.name > ?2 ORDER BY a.name LIMIT ?3"));
const WITH: Sql = sql!(concat!(
    columns!(),
    "JOIN queue_capabilities c ON c.org = a.org AND c.agent = a.name
     WHERE c.org = ?1 AND c.capability = ?4 AND c.agent > ?2 ORDER BY c.agent LIMIT ?3"
));
const ABLE: Sql = sql!(concat!(
    columns!(),
    "JOIN queue_capabilities c ON c.org = a.org AND c.agent = a.name
     WHERE c.org = ?1 AND c.capability = ?4 AND c.agent > ?2 AND a.availability = 'available'
     ORDER BY c.agent LIMIT ?3"
));
const ON: Sql = sql!(concat!(
    columns!(),
    "WHERE a.org = ?1 AND a.node = ?4 AND a.name > ?2 ORDER BY a.name LIMIT ?3"
));

impl OrgStore<'_> {
    /// Registers an agent whose name is new.
    pub async fn add_queue_agent(&self, agent: QueueAgent) -> Result<()> {
        self.store.write(Save { org: self.org, agents: vec![agent], row: &ADD }).await
    }

    /// Registers agents, all or none; those of the same names are replaced.
    pub async fn save_queue_agents(&self, mut agents: Vec<QueueAgent>) -> Result<()> {
        // Two who save the same agents hold their rows in the same order.
        agents.sort_by(|one, other| one.name.cmp(&other.name));
        self.store.write(Save { org: self.org, agents, row: &SAVE }).await
    }

    /// An agent by its name.
    pub async fn queue_agent(&self, name: &AgentName) -> Result<RegisteredAgent> {
        self.store.read(Get(self.org, name.clone())).await
    }

    /// Some of the agents after one of them, in the order of their names.
    pub async fn queue_agents(
        &self,
        which: WhichAgents,
        after: Option<&AgentName>,
        most: u32,
    ) -> Result<Vec<RegisteredAgent>> {
        self.store.read(List { org: self.org, which, after: after.cloned(), most }).await
    }

    /// Says whether an agent takes work.
    pub async fn set_availability(
        &self,
        name: &AgentName,
        availability: Availability,
    ) -> Result<()> {
        self.store.write(SetAvailability(self.org, name.clone(), availability)).await
    }

    /// Says how much agents have to do; those that are not registered are passed
    /// over. A crash may lose it, since it is said again soon.
    pub async fn set_loads(&self, mut loads: Vec<(AgentName, u64)>) -> Result<()> {
        loads.sort();
        self.store.write(SetLoads(self.org, loads)).await
    }

    /// Forgets an agent; says whether there was one.
    pub async fn forget_queue_agent(&self, name: &AgentName) -> Result<bool> {
        self.store.write(Forget(self.org, name.clone())).await
    }
}

struct Save {
    org: OrgId,
    agents: Vec<QueueAgent>,
    row: &'static Sql,
}

impl Operation for Save {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let mut batch = Vec::new();
        for agent in &self.agents {
            agent.statements(self.org, self.row, &mut batch)?;
        }
        match tx.finish(&batch).await {
            Err(StoreError::Conflict(_)) => {
                let names: Vec<&str> = self.agents.iter().map(|one| one.name.as_str()).collect();
                Err(StoreError::Conflict(format!("agent `{}`", names.join(", "))))
            }
            other => other.map(drop),
        }
    }
}

impl QueueAgent {
    /// What writes it. The row comes first: whoever else writes this agent
    /// waits there.
    fn statements(&self, org: OrgId, row: &'static Sql, to: &mut Vec<Statement>) -> Result<()> {
        check_size("configuration of an agent", &self.config)?;
        check_size("type of an agent", &self.agent_type)?;
        check_count("capabilities of an agent", self.capabilities.len())?;
        let name = Value::from(self.name.as_str());
        let params = vec![
            org.into(),
            name.clone(),
            self.agent_type.as_str().into(),
            self.hosting.name().into(),
            Value::json(&self.capabilities)?,
            name_of(&self.availability)?,
            self.at_once.into(),
            number(self.load),
            self.node.as_deref().into(),
            self.config.as_str().into(),
        ];
        let add = |sql, params| Statement { sql, params, must: None };
        to.push(add(row, params));
        to.push(add(&FORGET_CAPABILITIES, vec![org.into(), name.clone()]));
        to.extend(self.capabilities.iter().map(|capability| {
            let capability = String::from(capability.clone()).into();
            add(&ADD_CAPABILITY, vec![org.into(), name.clone(), capability])
        }));
        Ok(())
    }
}

struct Get(OrgId, AgentName);

impl Operation for Get {
    type Output = RegisteredAgent;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<RegisteredAgent> {
        let row = tx.first(&GET, &[self.0.into(), self.1.as_str().into()]).await?;
        registered(&row.ok_or(StoreError::NotFound("agent on a queue"))?)
    }
}

struct List {
    org: OrgId,
    which: WhichAgents,
    after: Option<AgentName>,
    most: u32,
}

impl Operation for List {
    type Output = Vec<RegisteredAgent>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<RegisteredAgent>> {
        let after = self.after.as_ref().map_or("", AgentName::as_str);
        let mut params = vec![self.org.into(), after.into(), self.most.into()];
        let capability = |capability: &Capability| Value::from(String::from(capability.clone()));
        let (sql, of) = match &self.which {
            WhichAgents::All => (&ALL, None),
            WhichAgents::Able(able) => (&ABLE, Some(capability(able))),
            WhichAgents::With(with) => (&WITH, Some(capability(with))),
            WhichAgents::On(node) => (&ON, Some(node.as_str().into())),
        };
        params.extend(of);
        tx.query(sql, &params).await?.iter().map(registered).collect()
    }
}

struct SetAvailability(OrgId, AgentName, Availability);

impl Operation for SetAvailability {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let params = [self.0.into(), self.1.as_str().into(), name_of(&self.2)?];
        match tx.execute(&SET_AVAILABILITY, &params).await? {
            0 => Err(StoreError::NotFound("agent on a queue")),
            _ => Ok(()),
        }
    }
}

struct SetLoads(OrgId, Vec<(AgentName, u64)>);

impl Operation for SetLoads {
    type Output = ();

    const FLUSHED: bool = false;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let set = |(name, load): &(AgentName, u64)| Statement {
            sql: &SET_LOAD,
            params: vec![self.0.into(), name.as_str().into(), number(*load)],
            must: None,
        };
        tx.finish(&self.1.iter().map(set).collect::<Vec<_>>()).await.map(drop)
    }
}

struct Forget(OrgId, AgentName);

impl Operation for Forget {
    type Output = bool;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<bool> {
        let forget = |sql| Statement {
            sql,
            params: vec![self.0.into(), self.1.as_str().into()],
            must: None,
        };
        let touched = tx.finish(&[forget(&FORGET), forget(&FORGET_CAPABILITIES)]).await?;
        Ok(touched.first().is_some_and(|rows| *rows > 0))
    }
}

fn number(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn registered(row: &Row) -> Result<RegisteredAgent> {
    const WHAT: &str = "agent on a queue";
    let available = row.text(4)? == "available";
    let agent = QueueAgent {
        name: row.written(0, WHAT)?,
        agent_type: row.text(1)?.to_owned(),
        hosting: Hosting::named(row.text(2)?)?,
        capabilities: row.json(3, WHAT)?,
        availability: if available { Availability::Available } else { Availability::Unavailable },
        at_once: u32::try_from(row.int(5)?).unwrap_or(u32::MAX),
        load: u64::try_from(row.int(6)?).unwrap_or_default(),
        node: row.opt_written(7, WHAT)?,
        config: row.text(8)?.to_owned(),
    };
    Ok(RegisteredAgent { agent, updated_at: row.time(9)? })
}
