//! Agent specs: name, capabilities and guards of an agent.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_domain::queue_agent::authority::AuthorityTier;
use ostler_domain::queue_agent::breaker::BreakerPolicy;
use ostler_domain::queue_agent::failure::RecoveryPolicy;
use ostler_domain::queue_agent::name::{AgentName, InvalidName};
use ostler_domain::queue_agent::selection::AgentSkill;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::registry::{AgentRecord, Placement};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// How long an agent's record is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordLifetime {
    /// Beyond a stop; the agent is then unavailable.
    #[default]
    Permanent,
    /// Until the agent is stopped.
    Ephemeral,
}

/// Whether an agent shares the work of its teams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TeamWork {
    /// Only messages addressed to the agent.
    #[default]
    Own,
    /// Also messages to its teams' work queues.
    Shared,
}

/// How to start an agent.
#[derive(Debug, Clone)]
pub struct AgentSpec {
    pub name: AgentName,
    pub agent_type: String,
    pub capabilities: BTreeSet<AgentSkill>,
    /// Maximum number of messages handled at the same time; at least one.
    pub concurrency: u16,
    /// Maximum number of messages waiting in this process, beyond the queue.
    pub max_waiting: u16,
    /// Maximum time for one message.
    pub timeout: Duration,
    /// The highest authority of the agent, whatever a message grants.
    pub tier: AuthorityTier,
    pub breaker: BreakerPolicy,
    pub recovery: RecoveryPolicy,
    pub team_work: TeamWork,
    pub lifetime: RecordLifetime,
    /// Stored in the record, for the factory.
    pub config: Value,
    /// The agent that started it and may stop it.
    pub started_by: Option<AgentName>,
}

impl AgentSpec {
    /// Creates a spec with default guards.
    pub fn new(name: AgentName) -> Self {
        Self {
            name,
            agent_type: "custom".into(),
            capabilities: BTreeSet::new(),
            concurrency: 1,
            max_waiting: 64,
            timeout: DEFAULT_TIMEOUT,
            tier: AuthorityTier::JustDoIt,
            breaker: BreakerPolicy::default(),
            recovery: RecoveryPolicy::default(),
            team_work: TeamWork::Own,
            lifetime: RecordLifetime::Permanent,
            config: Value::Null,
            started_by: None,
        }
    }

    /// Creates a spec with default guards. Fails if the name is invalid.
    pub fn named(name: &str) -> Result<Self, InvalidName> {
        Ok(Self::new(name.parse()?))
    }

    /// Sets the agent type.
    #[must_use]
    pub fn with_type(mut self, agent_type: impl Into<String>) -> Self {
        self.agent_type = agent_type.into();
        self
    }

    /// Adds a capability.
    #[must_use]
    pub fn with_capability(mut self, capability: impl Into<AgentSkill>) -> Self {
        self.capabilities.insert(capability.into());
        self
    }

    /// Sets the maximum number of messages handled at the same time.
    #[must_use]
    pub fn concurrency(mut self, count: u16) -> Self {
        self.concurrency = count.max(1);
        self
    }

    /// Makes the agent share the work of its teams.
    #[must_use]
    pub fn share_team_work(mut self) -> Self {
        self.team_work = TeamWork::Shared;
        self
    }

    /// Deletes the agent's record and queue when it is stopped.
    #[must_use]
    pub fn ephemeral(mut self) -> Self {
        self.lifetime = RecordLifetime::Ephemeral;
        self
    }

    /// Returns the spec of a registered agent.
    pub(super) fn from_record(record: &AgentRecord) -> Self {
        Self {
            agent_type: record.agent_type.clone(),
            capabilities: record.capabilities.clone(),
            concurrency: u16::try_from(record.concurrency).unwrap_or(u16::MAX).max(1),
            config: record.config.clone(),
            team_work: record.team_work,
            ..Self::new(record.name.clone())
        }
    }

    /// Returns the record of a pinned agent that is not available yet.
    pub(super) fn record(&self) -> AgentRecord {
        AgentRecord {
            capabilities: self.capabilities.clone(),
            concurrency: u32::from(self.concurrency),
            config: self.config.clone(),
            team_work: self.team_work,
            ..AgentRecord::new(self.name.clone(), self.agent_type.clone(), Placement::Pinned)
        }
    }
}
