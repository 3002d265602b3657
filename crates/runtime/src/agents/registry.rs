//! The agent registry: names, capabilities, placement and availability.
//!
//! A record outlives the process that runs its agent. Availability is a lease
//! that supervision renews, so that the agents of a killed process soon count
//! as unavailable. A pinned agent consumes a queue of its own; a hosted one
//! shares a queue. The placement of a registered agent does not change, so that
//! senders may cache it.

mod memory;

use std::collections::BTreeSet;

use ostler_bus::BoxFuture;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::selection::{AgentSkill, Availability, DelegationCandidate};
pub use ostler_domain::queue_agent::selection::{Placement, SkillCoverage};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::Result;
use super::page::Page;
use super::spec::TeamWork;

pub use memory::MemoryRegistry;

/// The record of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    pub name: AgentName,
    /// Names the factory that creates it.
    pub agent_type: String,
    pub capabilities: BTreeSet<AgentSkill>,
    pub placement: Placement,
    /// Maximum number of messages handled at the same time.
    pub concurrency: u32,
    /// Passed to the factory.
    pub config: Value,
    #[serde(default)]
    pub team_work: TeamWork,
    /// As last reported.
    pub availability: Availability,
    /// When the availability expires. `None` for hosted agents, whose messages
    /// any node handles.
    pub available_until: Option<Timestamp>,
    /// Messages in progress or waiting, as last reported.
    pub load: u64,
}

impl AgentRecord {
    /// Creates a record of an agent that is not available yet.
    pub fn new(name: AgentName, agent_type: impl Into<String>, placement: Placement) -> Self {
        Self {
            name,
            agent_type: agent_type.into(),
            capabilities: BTreeSet::new(),
            placement,
            concurrency: 1,
            config: Value::Null,
            team_work: TeamWork::Own,
            availability: Availability::Unavailable,
            available_until: None,
            load: 0,
        }
    }

    /// Returns whether the agent accepts work at this moment.
    pub fn is_available(&self, now: Timestamp) -> bool {
        let lasts = self.available_until.is_none_or(|until| now < until);
        self.availability == Availability::Available && lasts
    }

    /// Returns the agent as a candidate for work.
    pub fn candidate(&self, now: Timestamp) -> DelegationCandidate {
        let available = self.is_available(now);
        DelegationCandidate {
            name: self.name.clone(),
            capabilities: self.capabilities.clone(),
            availability: if available {
                Availability::Available
            } else {
                Availability::Unavailable
            },
            load: self.load,
            concurrency: self.concurrency,
        }
    }
}

/// A report that an agent is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPresence {
    pub name: AgentName,
    /// Messages in progress or waiting.
    pub load: u64,
}

/// The records of agents. All methods may be called concurrently, also from
/// several processes, and each is atomic.
pub trait Registry: Send + Sync + 'static {
    /// Stores a record, replacing one of the same name. Fails with
    /// [`PlacementConflict`](super::QueueError::PlacementConflict) if that one
    /// has another placement.
    fn register(&self, record: AgentRecord) -> BoxFuture<'_, Result<()>>;

    /// Marks agents as available until this moment and stores their load. Names
    /// without a record are skipped.
    fn renew_presence<'a>(
        &'a self,
        present: &'a [AgentPresence],
        until: Timestamp,
    ) -> BoxFuture<'a, Result<()>>;

    /// Marks an agent as unavailable. Returns `false` if it has no record.
    fn withdraw<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<bool>>;

    /// Deletes a record. Returns `false` if there is none.
    fn remove<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<bool>>;

    /// Returns a record.
    fn get<'a>(&'a self, name: &'a AgentName) -> BoxFuture<'a, Result<Option<AgentRecord>>>;

    /// Returns the agents with a capability: available ones first, then by
    /// load, then by name.
    fn find_by_capability<'a>(
        &'a self,
        capability: &'a AgentSkill,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<AgentRecord>>>;

    /// Returns the coverage of each capability, ordered by name.
    fn coverage(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<SkillCoverage>>>;

    /// Returns records ordered by name.
    fn list(&self, page: Page<AgentName>) -> BoxFuture<'_, Result<Vec<AgentRecord>>>;
}
