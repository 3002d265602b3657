//! What an org spent, by agent, model, tool and day.

use std::collections::BTreeMap;

use super::Credits;
use super::ledger::{CostBearer, Expense};
use crate::id::AgentId;
use crate::time::UtcDay;

/// What one agent spent on one thing on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendLine {
    pub day: UtcDay,
    pub agent: AgentId,
    pub expense: Expense,
    pub bearer: CostBearer,
    pub amount: Credits,
}

/// Which costs to add up; all of them without any part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpendFilter {
    pub agent: Option<AgentId>,
    pub model: Option<String>,
    pub tool: Option<String>,
}

impl SpendFilter {
    /// Returns whether a line is one of those asked for.
    pub fn matches(&self, line: &SpendLine) -> bool {
        let expense = line.expense.tested();
        let (model, tool) = match expense {
            Expense::ModelCalls(model) => (Some(model.as_str()), None),
            Expense::Tool(tool) => (None, Some(tool.as_str())),
            Expense::Model | Expense::Test(_) => (None, None),
        };
        self.agent.is_none_or(|agent| line.agent == agent)
            && self.model.as_deref().is_none_or(|wanted| model == Some(wanted))
            && self.tool.as_deref().is_none_or(|wanted| tool == Some(wanted))
    }
}

/// What an org spent in some days.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spend {
    /// The cost of the org's own work, also where others paid for it.
    pub total: Credits,
    /// The part of it that was spent in tests.
    pub tests: Credits,
    /// The part of it that the parent or the platform paid.
    pub paid_by_others: Credits,
    /// What the org paid for its clients, which is not in the total.
    pub for_clients: Credits,
    pub by_day: BTreeMap<UtcDay, Credits>,
    pub by_agent: BTreeMap<AgentId, Credits>,
    /// By name; `None` is what was spent without a record of the model.
    pub by_model: BTreeMap<Option<String>, Credits>,
    pub by_tool: BTreeMap<String, Credits>,
}

impl Spend {
    /// Adds up lines.
    pub fn of<'l>(lines: impl IntoIterator<Item = &'l SpendLine>) -> Self {
        let mut spend = Self::default();
        for line in lines {
            spend.add(line);
        }
        spend
    }

    fn add(&mut self, line: &SpendLine) {
        let amount = line.amount;
        match line.bearer {
            CostBearer::ForChild(_) => {
                self.for_clients = self.for_clients + amount;
                return;
            }
            CostBearer::PaidByParent(_) | CostBearer::Overrun => {
                self.paid_by_others = self.paid_by_others + amount;
            }
            CostBearer::Own => {}
        }
        let expense = line.expense.tested();
        let is_test = matches!(line.expense, Expense::Test(_));
        self.total = self.total + amount;
        if is_test {
            self.tests = self.tests + amount;
        }
        add(&mut self.by_day, line.day, amount);
        add(&mut self.by_agent, line.agent, amount);
        match expense {
            Expense::Tool(tool) => add(&mut self.by_tool, tool.to_string(), amount),
            Expense::ModelCalls(model) => add(&mut self.by_model, Some(model.clone()), amount),
            Expense::Model | Expense::Test(_) => add(&mut self.by_model, None, amount),
        }
    }
}

fn add<K: Ord>(sums: &mut BTreeMap<K, Credits>, key: K, amount: Credits) {
    let sum = sums.entry(key).or_default();
    *sum = *sum + amount;
}

#[cfg(test)]
mod tests {
    use super::{Spend, SpendFilter, SpendLine};
    use crate::id::{AgentId, OrgId};
    use crate::money::Credits;
    use crate::money::ledger::{CostBearer, Expense};
    use crate::time::UtcDay;
    use crate::tool::ToolName;

    const GIA: AgentId = AgentId::from_u128(1);
    const ENZO: AgentId = AgentId::from_u128(2);

    #[test]
    fn u08_spend_is_added_up_by_agent_model_tool_and_day() {
        let line = |day, agent, expense, bearer, amount| SpendLine {
            day: UtcDay::from_number(day),
            agent,
            expense,
            bearer,
            amount: Credits::new(amount),
        };
        let mail = || Expense::Tool(ToolName::from_static("send_email"));
        let model = || Expense::ModelCalls("small".into());
        let own = CostBearer::Own;
        let org = OrgId::from_u128(9);
        let spend = Spend::of(&[
            line(1, GIA, model(), own, 3),
            line(1, GIA, mail(), own, 2),
            line(2, ENZO, model().in_test(), own, 4),
            line(2, ENZO, Expense::Model, CostBearer::PaidByParent(org), 5),
            line(2, GIA, mail(), CostBearer::Overrun, 1),
            line(2, ENZO, model(), CostBearer::ForChild(org), 100),
        ]);
        let credits = Credits::new;
        let expected = Spend {
            total: credits(15),
            tests: credits(4),
            paid_by_others: credits(6),
            for_clients: credits(100),
            by_day: [(1, 5), (2, 10)]
                .map(|(day, of)| (UtcDay::from_number(day), credits(of)))
                .into(),
            by_agent: [(GIA, credits(6)), (ENZO, credits(9))].into(),
            by_model: [(None, credits(5)), (Some("small".into()), credits(7))].into(),
            by_tool: [("send_email".to_owned(), credits(3))].into(),
        };
        assert_eq!(spend, expected);
    }

    /// U08: the costs of one agent, model or tool are added up by themselves.
    #[test]
    fn u08_spend_is_filtered_by_agent_model_and_tool() {
        let line = |agent, expense| SpendLine {
            day: UtcDay::from_number(1),
            agent,
            expense,
            bearer: CostBearer::Own,
            amount: Credits::new(1),
        };
        let small = || Expense::ModelCalls("small".into());
        let lines = [
            line(GIA, small()),
            line(GIA, small().in_test()),
            line(ENZO, small()),
            line(ENZO, Expense::Model),
            line(ENZO, Expense::Tool(ToolName::from_static("send_email"))),
        ];
        let total = |agent, model: Option<&str>, tool: Option<&str>| {
            let (model, tool) = (model.map(Into::into), tool.map(Into::into));
            let filter = SpendFilter { agent, model, tool };
            Spend::of(lines.iter().filter(|line| filter.matches(line))).total
        };
        for (agent, model, tool, expected) in [
            (None, None, None, 5),
            (Some(GIA), None, None, 2),
            (None, Some("small"), None, 3),
            (Some(ENZO), Some("small"), None, 1),
            (None, None, Some("send_email"), 1),
            (Some(GIA), None, Some("send_email"), 0),
        ] {
            assert_eq!(
                total(agent, model, tool),
                Credits::new(expected),
                "{agent:?} {model:?} {tool:?}"
            );
        }
    }
}
