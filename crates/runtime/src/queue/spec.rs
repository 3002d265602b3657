//! What is said of an agent when it is started: its name, what it can do, and
//! the guards around it.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_domain::dispatch::authority::Tier;
use ostler_domain::dispatch::breaker::BreakerPolicy;
use ostler_domain::dispatch::choice::Capability;
use ostler_domain::dispatch::failure::RecoveryPolicy;
use ostler_domain::dispatch::name::{AgentName, NotAName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::registry::{AgentRecord, Placement};

/// How long an agent may take for one message, unless it is said.
const PATIENCE: Duration = Duration::from_secs(600);

/// How long an agent's record stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stay {
    /// After it was stopped too; it counts as away then.
    #[default]
    LongStanding,
    /// Until it is stopped.
    Ephemeral,
}

/// Whether an agent takes what is meant for any member of its team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TeamWork {
    /// Only what is addressed to it.
    #[default]
    Own,
    /// The shared work of its team too.
    Shared,
}

/// An agent as it is to be started.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Its name.
    pub name: AgentName,
    /// What kind of agent it is.
    pub agent_type: String,
    /// What it can do.
    pub capabilities: BTreeSet<Capability>,
    /// How many messages it handles at once; at least one.
    pub at_once: u16,
    /// How many messages may wait for it in this process, beyond its queue.
    pub waiting: u16,
    /// How long it may take for one message.
    pub patience: Duration,
    /// How far it may go at most, whatever a message allows.
    pub tier: Tier,
    /// When it is left alone.
    pub breaker: BreakerPolicy,
    /// What is done about its failures.
    pub recovery: RecoveryPolicy,
    /// Whether it takes its team's work.
    pub team_work: TeamWork,
    /// How long its record stays.
    pub stay: Stay,
    /// What its record says for its factory.
    pub config: Value,
    /// The agent that started it, and may have it stopped.
    pub started_by: Option<AgentName>,
}

impl Spec {
    /// An agent with the usual guards.
    pub fn new(name: AgentName) -> Self {
        Self {
            name,
            agent_type: "custom".into(),
            capabilities: BTreeSet::new(),
            at_once: 1,
            waiting: 64,
            patience: PATIENCE,
            tier: Tier::JustDoIt,
            breaker: BreakerPolicy::default(),
            recovery: RecoveryPolicy::default(),
            team_work: TeamWork::Own,
            stay: Stay::LongStanding,
            config: Value::Null,
            started_by: None,
        }
    }

    /// An agent with the usual guards, by the text of its name.
    pub fn named(name: &str) -> Result<Self, NotAName> {
        Ok(Self::new(name.parse()?))
    }

    /// Says what kind of agent it is.
    #[must_use]
    pub fn of_type(mut self, agent_type: impl Into<String>) -> Self {
        self.agent_type = agent_type.into();
        self
    }

    /// Says one more thing that it can do.
    #[must_use]
    pub fn able_to(mut self, capability: impl Into<Capability>) -> Self {
        self.capabilities.insert(capability.into());
        self
    }

    /// Says how many messages it handles at once.
    #[must_use]
    pub fn at_once(mut self, count: u16) -> Self {
        self.at_once = count.max(1);
        self
    }

    /// Has it take the shared work of its team.
    #[must_use]
    pub fn sharing_team_work(mut self) -> Self {
        self.team_work = TeamWork::Shared;
        self
    }

    /// Has its record go when it is stopped.
    #[must_use]
    pub fn ephemeral(mut self) -> Self {
        self.stay = Stay::Ephemeral;
        self
    }

    /// What its record says.
    pub(super) fn of_record(record: &AgentRecord) -> Self {
        Self {
            agent_type: record.agent_type.clone(),
            capabilities: record.capabilities.clone(),
            at_once: u16::try_from(record.at_once).unwrap_or(u16::MAX).max(1),
            config: record.config.clone(),
            team_work: record.team_work,
            ..Self::new(record.name.clone())
        }
    }

    /// The record of a pinned agent that is not there yet.
    pub(super) fn record(&self) -> AgentRecord {
        AgentRecord {
            capabilities: self.capabilities.clone(),
            at_once: u32::from(self.at_once),
            config: self.config.clone(),
            team_work: self.team_work,
            ..AgentRecord::new(self.name.clone(), self.agent_type.clone(), Placement::Pinned)
        }
    }
}
