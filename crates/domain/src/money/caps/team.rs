//! The purse that the agents of a team session share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::money::Credits;

/// What all agents of a team session may spend together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamBudget {
    /// The most.
    pub total: Credits,
    /// What each agent has spent.
    pub per_agent: BTreeMap<AgentId, Credits>,
    /// The agent the spending is attributed to.
    pub owner: AgentId,
}

/// A team has nothing left for this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the team has {remaining} left and this costs {wanted}")]
pub struct TeamExhausted {
    /// What was asked for.
    pub wanted: Credits,
    /// What is left.
    pub remaining: Credits,
}

impl TeamBudget {
    /// What a team session may spend unless its org says otherwise.
    pub const DEFAULT_TOTAL: Credits = Credits::new(100);

    /// A fresh budget.
    pub const fn new(total: Credits, owner: AgentId) -> Self {
        Self { total, per_agent: BTreeMap::new(), owner }
    }

    /// What is left for all of them.
    pub fn remaining(&self) -> Credits {
        self.total.saturating_sub(self.per_agent.values().copied().sum())
    }

    /// Counts what an agent spends; refused beyond what is left.
    pub fn spend(&mut self, agent: AgentId, amount: Credits) -> Result<(), TeamExhausted> {
        let remaining = self.remaining();
        if amount > remaining {
            return Err(TeamExhausted { wanted: amount, remaining });
        }
        self.record(agent, amount);
        Ok(())
    }

    /// Counts what an agent has really spent, also beyond what was left.
    pub fn record(&mut self, agent: AgentId, amount: Credits) {
        let spent = self.per_agent.entry(agent).or_default();
        *spent = *spent + amount;
    }
}
