//! The registry: which agents there are, what they can do, and who is there.
//!
//! A record outlives the process that runs its agent. Whether an agent is there
//! is a promise with an end: who runs it renews the promise, so that an agent
//! whose process was killed counts as away soon after.

mod memory;

use std::collections::BTreeSet;

use ostler_bus::BoxFuture;
use ostler_domain::dispatch::choice::{Availability, Candidate, Capability};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::Result;
use super::page::Page;
use super::spec::TeamWork;

pub use memory::MemoryRegistry;

/// Where an agent receives what is addressed to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// In a queue of its own.
    #[default]
    Pinned,
    /// In a queue that it shares; it is made when a message comes.
    Hosted,
}

/// What is known of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its name.
    pub name: AgentName,
    /// What kind of agent it is; a factory of this name can make it.
    pub agent_type: String,
    /// What it can do.
    pub capabilities: BTreeSet<Capability>,
    /// Where its messages wait.
    pub placement: Placement,
    /// How many messages it handles at once.
    pub at_once: u32,
    /// What its factory is told.
    pub config: Value,
    /// Whether it takes its team's work.
    #[serde(default)]
    pub team_work: TeamWork,
    /// Whether it takes work, as last heard.
    pub availability: Availability,
    /// Until when that holds; without an end for a hosted agent, whose
    /// messages any node takes.
    pub available_until: Option<Timestamp>,
    /// Messages that it has in work or waiting, as last heard.
    pub load: u64,
}

impl AgentRecord {
    /// An agent that is not there yet.
    pub fn new(name: AgentName, agent_type: impl Into<String>, placement: Placement) -> Self {
        Self {
            name,
            agent_type: agent_type.into(),
            capabilities: BTreeSet::new(),
            placement,
            at_once: 1,
            config: Value::Null,
            team_work: TeamWork::Own,
            availability: Availability::Unavailable,
            available_until: None,
            load: 0,
        }
    }

    /// Whether it takes work at this moment.
    pub fn is_available(&self, now: Timestamp) -> bool {
        let lasts = self.available_until.is_none_or(|until| now < until);
        self.availability == Availability::Available && lasts
    }

    /// What the choice among agents looks at.
    pub fn candidate(&self, now: Timestamp) -> Candidate {
        let there = self.is_available(now);
        Candidate {
            name: self.name.clone(),
            capabilities: self.capabilities.clone(),
            availability: if there { Availability::Available } else { Availability::Unavailable },
            load: self.load,
            at_once: self.at_once,
        }
    }
}

/// An agent says that it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    /// Which agent.
    pub name: AgentName,
    /// Messages that it has in work or waiting.
    pub load: u64,
}

/// How many agents have a capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// What they can do.
    pub capability: Capability,
    /// How many take work.
    pub there: u64,
    /// How many do not.
    pub away: u64,
}

/// The records of agents. All operations may be called from anywhere at the
/// same time, from several processes too, and each is done whole or not at all.
pub trait Registry: Send + Sync + 'static {
    /// Keeps a record. One that is there under the name is replaced, unless it
    /// has another placement: that is refused with
    /// [`Placement`](super::QueueError::Placement).
    fn register(&self, record: AgentRecord) -> BoxFuture<'_, Result<()>>;

    /// Agents are there, and have so much to do, until this moment. Names
    /// without a record are passed over.
    fn renew<'a>(&'a self, present: &'a [Presence], until: Timestamp) -> BoxFuture<'a, Result<()>>;

    /// An agent takes no work. False if it has no record.
    fn withdraw<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<bool>>;

    /// Forgets an agent. False if it has no record.
    fn remove<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<bool>>;

    /// One record.
    fn get<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<Option<AgentRecord>>>;

    /// Whoever has a capability, there or not: those who take work at this
    /// moment before those who do not, the least busy first, then by name.
    fn able<'a>(
        &'a self,
        capability: &'a Capability,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<AgentRecord>>>;

    /// For each capability, by its name, who is there and who is not.
    fn coverage(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Coverage>>>;

    /// Records by name.
    fn list(&self, page: Page<AgentName>) -> BoxFuture<'_, Result<Vec<AgentRecord>>>;
}
