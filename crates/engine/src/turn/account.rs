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

use super::protocol::{AgentPath, GateRecord, Question};
use super::spending::LimitedSubagent;
use crate::history::CallId;
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
    /// The subagents at work that may spend no more than a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    limited: Vec<LimitedSubagent>,
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
            limited: Vec::new(),
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

    /// Returns what the agent at a path may spend besides the answers in progress.
    pub(super) fn available(&self, path: &[CallId]) -> TurnBudget {
        let limits = self.limited.iter().filter(|limited| limited.covers(path));
        let subagent = limits.map(LimitedSubagent::left).min();
        TurnBudget { subagent, ..self.budget.minus_pending(self.held) }
    }

    /// Limits what the subagent at a path may spend, with those that it starts.
    pub(super) fn limit_subagent(&mut self, path: &AgentPath, limit: Credits) {
        self.limited.push(LimitedSubagent::new(path.clone(), limit));
    }

    /// Forgets the limit of a subagent.
    pub(super) fn subagent_ended(&mut self, path: &AgentPath) {
        self.limited.retain(|limited| !limited.is_at(path));
    }

    fn limits_of(&mut self, path: &[CallId]) -> impl Iterator<Item = &mut LimitedSubagent> {
        self.limited.iter_mut().filter(move |limited| limited.covers(path))
    }

    /// Holds back what an answer of the agent at a path may cost at most.
    pub(super) fn hold(&mut self, path: &[CallId], held: Credits) {
        self.held = self.held + held;
        self.limits_of(path).for_each(|limited| limited.hold(held));
    }

    /// Ends a hold, however the answer ended.
    pub(super) fn release(&mut self, path: &[CallId], held: Credits) {
        self.held = self.held.saturating_sub(held);
        self.limits_of(path).for_each(|limited| limited.release(held));
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
    pub(super) fn count_answer(
        &mut self,
        path: &[CallId],
        agent: &str,
        usage: Usage,
        price: ModelPrice,
    ) {
        self.usage = self.usage.plus(usage);
        let cost = usage.cost(price);
        self.limits_of(path).for_each(|limited| limited.count_answer(cost));
        let total = self.model_cost.as_micros().saturating_add(cost.as_micros());
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
    pub(super) fn refund_call(
        &mut self,
        path: &[CallId],
        agent: &str,
        tool: &ToolName,
        price: Credits,
    ) {
        self.budget.refund(price);
        self.limits_of(path).for_each(|limited| limited.refund_call(price));
        if let Some(sum) = self.tools.get_mut(tool) {
            *sum = sum.saturating_sub(price);
        }
        let spent = self.agent_usage(agent);
        spent.credits = spent.credits.saturating_sub(price);
    }

    /// Counts a tool call.
    pub(super) fn count_call(
        &mut self,
        path: &[CallId],
        agent: &str,
        tool: &ToolName,
        price: Credits,
    ) {
        if price.is_zero() {
            return;
        }
        self.budget.record(price);
        self.limits_of(path).for_each(|limited| limited.count_call(price));
        let sum = self.tools.entry(tool.clone()).or_default();
        *sum = *sum + price;
        let spent = self.agent_usage(agent);
        spent.credits = spent.credits + price;
    }

    fn agent_usage(&mut self, agent: &str) -> &mut AgentUsage {
        self.usage_by_agent.entry(agent.to_owned()).or_default()
    }
}
