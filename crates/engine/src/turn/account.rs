//! The account of a turn: what its agents have used together and may still use.

use std::collections::BTreeMap;

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::ledger::{Charge, Expense};
use ostler_domain::money::price::{ModelPrice, message_credits};
use ostler_domain::money::{Credits, Usd};
use ostler_domain::session::errors::ErrorState;
use ostler_domain::tool::ToolName;
use serde::{Deserialize, Serialize};

use super::protocol::{GateRecord, Question};
use crate::model::{Restart, Usage};
use crate::outcome::ToolEffect;

/// The key of the turn's own agent in [`TurnAccount::usage_by_agent`].
pub const ROOT_AGENT: &str = "self";

/// What a turn has used and may still use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnAccount {
    /// What may still be spent.
    pub budget: TurnBudget,
    /// The failures of the session, including those of this turn.
    pub errors: ErrorState,
    /// The number of model calls.
    pub steps: u32,
    /// The tokens of all agents.
    pub usage: Usage,
    /// Tokens and credits by kind of agent.
    pub usage_by_agent: BTreeMap<String, AgentUsage>,
    /// The failures that were retried.
    pub restarts: Vec<Restart>,
    /// Every decision of the gate, in order.
    pub decisions: Vec<GateRecord>,
    /// What local tools want stored, in order.
    pub effects: Vec<ToolEffect>,
    /// The calls left to people to decide while the turn continues, in order.
    #[serde(default)]
    pub deferred_questions: Vec<Question>,
    /// The most that answers in progress may cost.
    held: Credits,
    /// The calls in `deferred_questions`, to ask only once for each.
    pub(super) deferred_hashes: Vec<ArgumentsHash>,
    model_cost: Usd,
    model_credits: Credits,
    tools: BTreeMap<ToolName, Credits>,
}

/// What one kind of agent has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentUsage {
    pub usage: Usage,
    /// For models and tools.
    pub credits: Credits,
}

impl TurnAccount {
    pub(super) fn new(budget: TurnBudget, errors: ErrorState) -> Self {
        Self {
            budget,
            errors,
            steps: 0,
            usage: Usage::default(),
            usage_by_agent: BTreeMap::new(),
            restarts: Vec::new(),
            decisions: Vec::new(),
            effects: Vec::new(),
            deferred_questions: Vec::new(),
            held: Credits::ZERO,
            deferred_hashes: Vec::new(),
            model_cost: Usd::from_micros(0),
            model_credits: Credits::ZERO,
            tools: BTreeMap::new(),
        }
    }

    /// Returns the cost of all model calls.
    pub const fn model_cost(&self) -> Usd {
        self.model_cost
    }

    /// Returns what to charge for the turn: its model calls together, rounded up once,
    /// and each tool.
    pub fn charges(&self) -> Vec<Charge> {
        let model = Charge { expense: Expense::Model, amount: self.model_credits };
        let tools = self
            .tools
            .iter()
            .map(|(tool, amount)| Charge { expense: Expense::Tool(tool.clone()), amount: *amount });
        std::iter::once(model).chain(tools).filter(|charge| !charge.amount.is_zero()).collect()
    }

    /// Returns what may be spent besides the answers in progress.
    pub(super) fn available(&self) -> TurnBudget {
        self.budget.minus_pending(self.held)
    }

    /// Holds back what an answer may cost at most.
    pub(super) fn hold(&mut self, held: Credits) {
        self.held = self.held + held;
    }

    /// Ends a hold, however the answer ended.
    pub(super) fn release(&mut self, held: Credits) {
        self.held = self.held.saturating_sub(held);
    }

    /// Adds reserved credits. Zero means that there are no more, so that no further
    /// top-up is requested.
    pub(super) fn apply_top_up(&mut self, added: Credits) {
        self.budget.record_top_up(added);
        if added.is_zero() {
            self.budget.top_up = Credits::ZERO;
        }
    }

    /// Counts an answer. Credits are whole numbers, so only the increase of the rounded
    /// total is taken from the budget.
    pub(super) fn count_answer(&mut self, agent: &str, usage: Usage, price: ModelPrice) {
        self.usage = self.usage.plus(usage);
        let total = self.model_cost.as_micros().saturating_add(usage.cost(price).as_micros());
        self.model_cost = Usd::from_micros(total);
        let credits = message_credits(self.model_cost);
        let added_credits = credits.saturating_sub(self.model_credits);
        self.model_credits = credits;
        self.budget.record(added_credits);
        let spent = self.agent_usage(agent);
        spent.usage = spent.usage.plus(usage);
        spent.credits = spent.credits + added_credits;
    }

    /// Reverses [`count_call`](Self::count_call).
    pub(super) fn refund_call(&mut self, agent: &str, tool: &ToolName, price: Credits) {
        self.budget.refund(price);
        if let Some(sum) = self.tools.get_mut(tool) {
            *sum = sum.saturating_sub(price);
        }
        let spent = self.agent_usage(agent);
        spent.credits = spent.credits.saturating_sub(price);
    }

    /// Counts a tool call.
    pub(super) fn count_call(&mut self, agent: &str, tool: &ToolName, price: Credits) {
        if price.is_zero() {
            return;
        }
        self.budget.record(price);
        let sum = self.tools.entry(tool.clone()).or_default();
        *sum = *sum + price;
        let spent = self.agent_usage(agent);
        spent.credits = spent.credits + price;
    }

    fn agent_usage(&mut self, agent: &str) -> &mut AgentUsage {
        self.usage_by_agent.entry(agent.to_owned()).or_default()
    }
}
