//! The budget that the agents of a team session share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::money::Credits;

/// The shared budget of a team session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamBudget {
    pub total: Credits,
    /// Spent by each agent.
    pub per_agent: BTreeMap<AgentId, Credits>,
    /// The agent that the spending is attributed to.
    pub owner: AgentId,
}

/// A cost that exceeds what the team has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the team has {remaining} left and this costs {wanted}")]
pub struct TeamBudgetExceeded {
    pub wanted: Credits,
    pub remaining: Credits,
}

impl TeamBudget {
    /// The default total.
    pub const DEFAULT_TOTAL: Credits = Credits::new(100);

    /// Makes an unspent budget.
    pub const fn new(total: Credits, owner: AgentId) -> Self {
        Self { total, per_agent: BTreeMap::new(), owner }
    }

    /// Returns what is left for all agents.
    pub fn remaining(&self) -> Credits {
        self.total.saturating_sub(self.per_agent.values().copied().sum())
    }

    /// Records what an agent spends. Fails if it is more than is left.
    pub fn spend(&mut self, agent: AgentId, amount: Credits) -> Result<(), TeamBudgetExceeded> {
        let remaining = self.remaining();
        if amount > remaining {
            return Err(TeamBudgetExceeded { wanted: amount, remaining });
        }
        self.record(agent, amount);
        Ok(())
    }

    /// Records what an agent has actually spent, also beyond what was left.
    pub fn record(&mut self, agent: AgentId, amount: Credits) {
        let spent = self.per_agent.entry(agent).or_default();
        *spent = *spent + amount;
    }
}
