//! What a subagent with a limit has spent, with the subagents that it started.

use ostler_domain::money::price::message_credits;
use ostler_domain::money::{Credits, Usd};
use serde::{Deserialize, Serialize};

use super::protocol::AgentPath;
use crate::history::CallId;

/// A subagent at work that may spend no more than a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LimitedSubagent {
    path: AgentPath,
    limit: Credits,
    model_cost: Usd,
    tools: Credits,
    /// The most that its answers in progress may cost.
    held: Credits,
}

impl LimitedSubagent {
    pub(super) const fn new(path: AgentPath, limit: Credits) -> Self {
        let model_cost = Usd::from_micros(0);
        Self { path, limit, model_cost, tools: Credits::ZERO, held: Credits::ZERO }
    }

    /// Returns whether the agent at a path is this one, or works for it.
    pub(super) fn covers(&self, path: &[CallId]) -> bool {
        path.starts_with(&self.path)
    }

    pub(super) fn is_at(&self, path: &[CallId]) -> bool {
        self.path == path
    }

    /// Returns what it may spend besides its answers in progress. Its model calls together
    /// are rounded up to whole credits, as those of a turn are.
    pub(super) fn left(&self) -> Credits {
        let models = match self.model_cost.as_micros() {
            0 => Credits::ZERO,
            _ => message_credits(self.model_cost),
        };
        self.limit.saturating_sub(models + self.tools + self.held)
    }

    pub(super) fn hold(&mut self, held: Credits) {
        self.held = self.held + held;
    }

    pub(super) fn release(&mut self, held: Credits) {
        self.held = self.held.saturating_sub(held);
    }

    pub(super) fn count_answer(&mut self, cost: Usd) {
        let total = self.model_cost.as_micros().saturating_add(cost.as_micros());
        self.model_cost = Usd::from_micros(total);
    }

    pub(super) fn count_call(&mut self, price: Credits) {
        self.tools = self.tools + price;
    }

    pub(super) fn refund_call(&mut self, price: Credits) {
        self.tools = self.tools.saturating_sub(price);
    }
}
