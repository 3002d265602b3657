//! How everything is: who runs here, and what can still be done if somebody is
//! away.

use ostler_bus::now;
use ostler_domain::dispatch::breaker::BreakerState;
use ostler_domain::dispatch::name::{AgentName, TeamName};
use serde::{Deserialize, Serialize};

use super::AgentRuntime;
use crate::queue::error::Result;
use crate::queue::harness::Harness;
use crate::queue::page::LONGEST_PAGE;
use crate::queue::registry::Coverage;

/// How the whole is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Every registered agent is there.
    Whole,
    /// Some are away; what the others can do goes on.
    Degraded,
}

/// An agent that runs here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStatus {
    /// Which agent.
    pub name: AgentName,
    /// The teams that it is in.
    pub teams: Vec<TeamName>,
    /// Messages in work.
    pub in_work: u32,
    /// What its breaker knows of it.
    pub breaker: BreakerState,
}

/// How a runtime and the agents of its registry are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// How the whole is.
    pub condition: Condition,
    /// What can be done, and by how many.
    pub coverage: Vec<Coverage>,
    /// The agents that run here, by name.
    pub agents: Vec<AgentStatus>,
    /// How many hosted agents are awake here.
    pub awake: usize,
}

impl AgentRuntime {
    /// How everything is now.
    pub async fn status(&self) -> Result<Status> {
        let coverage = self.0.registry.coverage(now(), LONGEST_PAGE).await?;
        let mut agents: Vec<AgentStatus> =
            self.harnesses().iter().map(|harness| of_agent(harness)).collect();
        agents.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let held_back = |agent: &AgentStatus| !matches!(agent.breaker, BreakerState::Closed { .. });
        let whole = coverage.iter().all(|one| one.away == 0) && !agents.iter().any(held_back);
        let condition = if whole { Condition::Whole } else { Condition::Degraded };
        let awake = self.awake().len();
        Ok(Status { condition, coverage, agents, awake })
    }
}

fn of_agent(harness: &Harness) -> AgentStatus {
    AgentStatus {
        name: harness.spec.name.clone(),
        teams: harness.teams(),
        in_work: harness.in_work(),
        breaker: harness.breaker_state(),
    }
}
