//! The status of a runtime: its agents, and which capabilities are covered.

use ostler_bus::{QueueDepth, QueueName, now};
use ostler_domain::queue_agent::breaker::BreakerState;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use serde::{Deserialize, Serialize};

use super::AgentRuntime;
use crate::agents::error::Result;
use crate::agents::harness::QueueAgentHarness;
use crate::agents::page::{MAX_PAGE_SIZE, Page};
use crate::agents::registry::{Placement, SkillCoverage};

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

/// Whether the messages in a queue are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueService {
    /// Somebody takes its messages.
    Served,
    /// Nobody takes messages, and none are waiting.
    Unserved,
    /// Messages are waiting, and nobody takes them.
    Stuck,
}

impl QueueService {
    /// Returns how a queue with this depth is served.
    pub fn of(depth: &QueueDepth) -> Self {
        match (depth.consumers, depth.total()) {
            (0, 0) => Self::Unserved,
            (0, _) => Self::Stuck,
            _ => Self::Served,
        }
    }
}

/// A queue as the bus reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueStatus {
    pub name: QueueName,
    pub waiting: u64,
    pub consumers: u32,
    pub service: QueueService,
}

impl AgentRuntime {
    /// Returns the queues of up to `limit` registered agents, as the bus reports them: the
    /// shared ones if there are hosted agents, and one for each pinned agent.
    pub async fn queues(&self, limit: usize) -> Result<Vec<QueueStatus>> {
        let records = self.0.registry.list(Page::first(limit)).await?;
        let mut names = Vec::new();
        if records.iter().any(|record| record.placement == Placement::Hosted) {
            names = self.shared_queues();
        }
        let pinned = records.iter().filter(|record| record.placement == Placement::Pinned);
        names.extend(pinned.map(|record| QueueName::agent(&record.name)));
        let mut queues = Vec::with_capacity(names.len());
        for name in names {
            let depth = self.0.bus.depth(&name).await?;
            let (waiting, consumers) = (depth.total(), depth.consumers);
            let service = QueueService::of(&depth);
            queues.push(QueueStatus { name, waiting, consumers, service });
        }
        Ok(queues)
    }

    /// Returns the names of up to `limit` agents that are not available.
    pub async fn away(&self, limit: usize) -> Result<Vec<AgentName>> {
        let records = self.0.registry.list(Page::first(limit)).await?;
        let away = records.into_iter().filter(|record| !record.is_available(now()));
        Ok(away.map(|record| record.name).collect())
    }

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

#[cfg(test)]
mod tests {
    use ostler_bus::QueueDepth;

    use super::QueueService;

    /// O26: a queue is stuck if messages wait and nobody takes them.
    #[test]
    fn o26_a_queue_without_consumers_is_stuck_once_messages_wait() {
        let table = [
            (0, 0, QueueService::Unserved),
            (0, 1, QueueService::Stuck),
            (1, 0, QueueService::Served),
            (1, 5, QueueService::Served),
        ];
        for (consumers, waiting, expected) in table {
            let mut depth = QueueDepth { consumers, ..QueueDepth::default() };
            depth.waiting[0] = waiting;
            assert_eq!(QueueService::of(&depth), expected, "{consumers} {waiting}");
        }
    }
}
