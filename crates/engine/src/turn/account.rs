//! What a turn has used and may still use: one account for all its agents.

use std::collections::BTreeMap;

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::ledger::{Charge, Expense};
use ostler_domain::money::price::{ModelPrice, message_credits};
use ostler_domain::money::{Credits, Usd};
use ostler_domain::session::errors::ErrorState;
use ostler_domain::tool::ToolName;
use serde::{Deserialize, Serialize};

use super::protocol::{Judgement, Question};
use crate::model::{Restart, Usage};
use crate::outcome::Effect;

/// The turn's own agent, in the list of who spent what.
pub const ITSELF: &str = "self";

/// What a turn has used and may still use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// What it may still spend.
    pub budget: TurnBudget,
    /// The session's failures, those of this turn included.
    pub errors: ErrorState,
    /// How often a model was asked.
    pub steps: u32,
    /// Tokens of all agents.
    pub usage: Usage,
    /// Tokens and credits of each kind of agent.
    pub spent: BTreeMap<String, Spent>,
    /// What failed before an answer came.
    pub restarts: Vec<Restart>,
    /// Every decision of the gate, in order.
    pub decisions: Vec<Judgement>,
    /// What local tools want stored, in order.
    pub effects: Vec<Effect>,
    /// Calls that people are to decide on while the turn goes on, in order.
    #[serde(default)]
    pub put_off: Vec<Question>,
    /// What answers that are under way may cost.
    under_way: Credits,
    /// Calls that a person was asked about while the turn goes on.
    pub(super) deferred: Vec<ArgumentsHash>,
    model_cost: Usd,
    model_credits: Credits,
    tools: BTreeMap<ToolName, Credits>,
}

/// What one kind of agent has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens.
    pub usage: Usage,
    /// Credits, for models and tools.
    pub credits: Credits,
}

impl Account {
    pub(super) fn new(budget: TurnBudget, errors: ErrorState) -> Self {
        Self {
            budget,
            errors,
            steps: 0,
            usage: Usage::default(),
            spent: BTreeMap::new(),
            restarts: Vec::new(),
            decisions: Vec::new(),
            effects: Vec::new(),
            put_off: Vec::new(),
            under_way: Credits::ZERO,
            deferred: Vec::new(),
            model_cost: Usd::from_micros(0),
            model_credits: Credits::ZERO,
            tools: BTreeMap::new(),
        }
    }

    /// What all model calls have cost.
    pub const fn model_cost(&self) -> Usd {
        self.model_cost
    }

    /// What is to be charged for the turn: its model calls together, rounded up
    /// once, and each tool.
    pub fn charges(&self) -> Vec<Charge> {
        let model = Charge { expense: Expense::Model, amount: self.model_credits };
        let tools = self
            .tools
            .iter()
            .map(|(tool, amount)| Charge { expense: Expense::Tool(tool.clone()), amount: *amount });
        std::iter::once(model).chain(tools).filter(|charge| !charge.amount.is_zero()).collect()
    }

    /// What may still be spent while others are at work.
    pub(super) fn free(&self) -> TurnBudget {
        self.budget.without(self.under_way)
    }

    /// An answer begins that may cost this much.
    pub(super) fn begin_answer(&mut self, held: Credits) {
        self.under_way = self.under_way + held;
    }

    /// It is over, however.
    pub(super) fn end_answer(&mut self, held: Credits) {
        self.under_way = self.under_way.saturating_sub(held);
    }

    /// Counts what was reserved besides. If it is nothing there is no more, and
    /// nobody asks again.
    pub(super) fn topped_up(&mut self, added: Credits) {
        self.budget.topped_up(added);
        if added.is_zero() {
            self.budget.top_up = Credits::ZERO;
        }
    }

    /// Counts an answer. Credits are whole, so only what goes beyond those that
    /// are counted already is taken from the budget.
    pub(super) fn count_answer(&mut self, agent: &str, usage: Usage, price: ModelPrice) {
        self.usage = self.usage.plus(usage);
        let total = self.model_cost.as_micros().saturating_add(usage.cost(price).as_micros());
        self.model_cost = Usd::from_micros(total);
        let credits = message_credits(self.model_cost);
        let more = credits.saturating_sub(self.model_credits);
        self.model_credits = credits;
        self.budget.record(more);
        let spent = self.of(agent);
        spent.usage = spent.usage.plus(usage);
        spent.credits = spent.credits + more;
    }

    /// Takes back that a call was counted.
    pub(super) fn uncount_call(&mut self, agent: &str, tool: &ToolName, price: Credits) {
        self.budget.refund(price);
        if let Some(sum) = self.tools.get_mut(tool) {
            *sum = sum.saturating_sub(price);
        }
        let spent = self.of(agent);
        spent.credits = spent.credits.saturating_sub(price);
    }

    /// Counts a call of a tool.
    pub(super) fn count_call(&mut self, agent: &str, tool: &ToolName, price: Credits) {
        if price.is_zero() {
            return;
        }
        self.budget.record(price);
        let sum = self.tools.entry(tool.clone()).or_default();
        *sum = *sum + price;
        let spent = self.of(agent);
        spent.credits = spent.credits + price;
    }

    fn of(&mut self, agent: &str) -> &mut Spent {
        self.spent.entry(agent.to_owned()).or_default()
    }
}
