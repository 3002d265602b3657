//! The status of a runtime: its agents, and which capabilities are covered.

use ostler_bus::now;
use ostler_domain::queue_agent::breaker::BreakerState;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use serde::{Deserialize, Serialize};

use super::AgentRuntime;
use crate::agents::error::Result;
use crate::agents::harness::QueueAgentHarness;
use crate::agents::page::MAX_PAGE_SIZE;
use crate::agents::registry::SkillCoverage;

/// The overall health of the agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentHealth {
    /// Every registered agent is available.
    Healthy,
    /// Some agents are unavailable; the others continue.
    Degraded,
}

/// The status of an agent running in this process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueAgentStatus {
    pub name: AgentName,
    pub teams: Vec<TeamName>,
    /// Messages in progress.
    pub in_progress: u32,
    pub breaker: BreakerState,
}

/// The status of a runtime and of the agents in its registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeStatus {
    pub condition: AgentHealth,
    pub coverage: Vec<SkillCoverage>,
    /// The agents running in this process, ordered by name.
    pub agents: Vec<QueueAgentStatus>,
    /// Number of hosted agents in memory.
    pub awake: usize,
}

impl AgentRuntime {
    /// Returns the current status.
    pub async fn status(&self) -> Result<RuntimeStatus> {
        let coverage = self.0.registry.coverage(now(), MAX_PAGE_SIZE).await?;
        let mut agents: Vec<QueueAgentStatus> =
            self.harnesses().iter().map(|harness| agent_status(harness)).collect();
        agents.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let is_paused =
            |agent: &QueueAgentStatus| !matches!(agent.breaker, BreakerState::Closed { .. });
        let healthy = coverage.iter().all(|coverage| coverage.unavailable == 0)
            && !agents.iter().any(is_paused);
        let condition = if healthy { AgentHealth::Healthy } else { AgentHealth::Degraded };
        let awake = self.awake_agents().len();
        Ok(RuntimeStatus { condition, coverage, agents, awake })
    }
}

fn agent_status(harness: &QueueAgentHarness) -> QueueAgentStatus {
    QueueAgentStatus {
        name: harness.spec.name.clone(),
        teams: harness.teams(),
        in_progress: harness.in_progress(),
        breaker: harness.breaker_state(),
    }
}
