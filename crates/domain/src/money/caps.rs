//! Caps inside a session: its own, its team's, and the budget of one turn.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Credits;
use super::price::MINIMUM_CHARGE;
use crate::id::AgentId;

/// What one session may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionBudget {
    /// The most.
    pub cap: Credits,
    /// From here on only reading is left.
    pub warning: Credits,
    /// What it has spent.
    pub spent: Credits,
}

/// What a session's spending allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionSpending {
    /// Everything.
    Open,
    /// Tools that read.
    ReadOnly,
    /// Nothing: no model is called, the customer is told, the owner notified.
    Closed,
}

impl Default for SessionBudget {
    fn default() -> Self {
        Self { cap: Credits::new(50), warning: Credits::new(40), spent: Credits::ZERO }
    }
}

impl SessionBudget {
    /// What is left.
    pub const fn remaining(&self) -> Credits {
        self.cap.saturating_sub(self.spent)
    }

    /// Counts what was really spent, also beyond the cap.
    pub fn record(&mut self, amount: Credits) {
        self.spent = self.spent + amount;
    }

    /// What the spending so far allows.
    pub fn spending(&self) -> SessionSpending {
        if self.spent >= self.cap {
            SessionSpending::Closed
        } else if self.spent >= self.warning {
            SessionSpending::ReadOnly
        } else {
            SessionSpending::Open
        }
    }
}

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

/// Which limit is the tightest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetLimit {
    /// The credits of the org, and of its parent.
    Org,
    /// The session's cap.
    Session,
    /// The team's budget.
    Team,
}

/// The turn's budget does not reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("this costs {wanted} and the {} has {remaining} left", limit_name(*.limit))]
pub struct OverBudget {
    /// What was asked for.
    pub wanted: Credits,
    /// What is left.
    pub remaining: Credits,
    /// The limit that stands in the way.
    pub limit: BudgetLimit,
}

const fn limit_name(limit: BudgetLimit) -> &'static str {
    match limit {
        BudgetLimit::Org => "org",
        BudgetLimit::Session => "session",
        BudgetLimit::Team => "team",
    }
}

/// The budget of one turn: loaded once, then counted down in memory, so that
/// no tool call asks the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnBudget {
    /// Left of the reservation.
    pub reserved: Credits,
    /// What the org could add to the reservation when the turn began.
    pub top_up: Credits,
    /// Left of the session's cap.
    pub session: Credits,
    /// Left of the team's budget, in a team session.
    pub team: Option<Credits>,
}

impl TurnBudget {
    /// What the tightest limit leaves, and which it is.
    pub fn tightest(&self) -> (Credits, BudgetLimit) {
        let mut tightest = (self.reserved + self.top_up, BudgetLimit::Org);
        let others = [(Some(self.session), BudgetLimit::Session), (self.team, BudgetLimit::Team)];
        for (left, limit) in others {
            if let Some(left) = left
                && left < tightest.0
            {
                tightest = (left, limit);
            }
        }
        tightest
    }

    /// Whether this much can be paid.
    pub fn check(&self, wanted: Credits) -> Result<(), OverBudget> {
        let (remaining, limit) = self.tightest();
        if wanted > remaining { Err(OverBudget { wanted, remaining, limit }) } else { Ok(()) }
    }

    /// Whether a model may be called: at least one message must be affordable.
    pub fn check_model_call(&self) -> Result<(), OverBudget> {
        self.check(MINIMUM_CHARGE)
    }

    /// What must be added to the reservation before this can be spent.
    pub const fn missing(&self, wanted: Credits) -> Credits {
        wanted.saturating_sub(self.reserved)
    }

    /// Counts what was added to the reservation.
    pub fn topped_up(&mut self, added: Credits) {
        self.reserved = self.reserved + added;
        self.top_up = self.top_up.saturating_sub(added);
    }

    /// Counts down; refused and unchanged beyond what is left.
    pub fn spend(&mut self, amount: Credits) -> Result<(), OverBudget> {
        self.check(amount)?;
        self.record(amount);
        Ok(())
    }

    /// Counts what was really spent. An answer that cost more than was left
    /// brings the budget to zero, so that the next call is refused.
    pub fn record(&mut self, amount: Credits) {
        let beyond = self.missing(amount);
        self.reserved = self.reserved.saturating_sub(amount);
        self.top_up = self.top_up.saturating_sub(beyond);
        self.session = self.session.saturating_sub(amount);
        self.team = self.team.map(|left| left.saturating_sub(amount));
    }
}

/// The three budgets that a harness shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetView {
    /// Left for this session.
    pub session_budget: Credits,
    /// Left for the org today; absent without a limit.
    pub org_budget: Option<Credits>,
    /// Left of what the parent pays today; absent for a top-level org.
    pub parent_budget: Option<Credits>,
}

#[cfg(test)]
mod tests {
    use super::{
        BudgetLimit, OverBudget, SessionBudget, SessionSpending, TeamBudget, TeamExhausted,
        TurnBudget,
    };
    use crate::id::AgentId;
    use crate::money::Credits;

    fn credits(n: u64) -> Credits {
        Credits::new(n)
    }

    /// E08: read-only from 40 on, closed from 50 on.
    #[test]
    fn e08_a_session_narrows_at_40_and_closes_at_50() {
        let table = [
            (0, SessionSpending::Open),
            (39, SessionSpending::Open),
            (40, SessionSpending::ReadOnly),
            (49, SessionSpending::ReadOnly),
            (50, SessionSpending::Closed),
            (51, SessionSpending::Closed),
        ];
        for (spent, expected) in table {
            let budget = SessionBudget { spent: credits(spent), ..Default::default() };
            assert_eq!(budget.spending(), expected, "{spent}");
        }
    }

    /// E09, E10, E11: each agent's spend is kept, all lower the same number.
    #[test]
    fn e09_a_team_spends_from_one_purse() {
        let (a, b) = (AgentId::from_u128(1), AgentId::from_u128(2));
        let mut budget = TeamBudget::new(TeamBudget::DEFAULT_TOTAL, a);
        budget.spend(a, credits(3)).unwrap();
        budget.spend(b, credits(5)).unwrap();
        assert_eq!(budget.per_agent, [(a, credits(3)), (b, credits(5))].into());
        assert_eq!(budget.remaining(), credits(92));
        budget.spend(a, credits(92)).unwrap();
        let refused = Err(TeamExhausted { wanted: credits(1), remaining: credits(0) });
        assert_eq!(budget.spend(a, credits(1)), refused);
        assert_eq!(budget.spend(b, credits(1)), refused);
        assert_eq!(budget.owner, a);
    }

    /// C02, C20: one load, then every spend counts down in memory, and the
    /// tightest limit stops it.
    #[test]
    fn c20_a_turn_counts_down_and_stops_at_the_tightest_limit() {
        let mut budget = TurnBudget {
            reserved: credits(10),
            top_up: credits(0),
            session: credits(4),
            team: Some(credits(6)),
        };
        for _ in 0..4 {
            budget.spend(credits(1)).unwrap();
        }
        let after = TurnBudget {
            reserved: credits(6),
            session: credits(0),
            team: Some(credits(2)),
            ..budget
        };
        assert_eq!(budget, after);
        let refused =
            OverBudget { wanted: credits(1), remaining: credits(0), limit: BudgetLimit::Session };
        assert_eq!(budget.spend(credits(1)), Err(refused));
        assert_eq!(budget, after);
        assert_eq!(budget.check_model_call(), Err(refused));
        assert_eq!(budget.spend(credits(0)), Ok(()));
    }

    /// C07: a tool that costs more than is reserved is affordable when the org
    /// can add the rest.
    #[test]
    fn c07_a_reservation_is_topped_up_on_need() {
        let mut budget = TurnBudget {
            reserved: credits(1),
            top_up: credits(3),
            session: credits(50),
            team: None,
        };
        assert_eq!(budget.check(credits(4)), Ok(()));
        let refused =
            OverBudget { wanted: credits(5), remaining: credits(4), limit: BudgetLimit::Org };
        assert_eq!(budget.check(credits(5)), Err(refused));
        assert_eq!(budget.missing(credits(3)), credits(2));
        budget.topped_up(credits(2));
        assert_eq!((budget.reserved, budget.top_up), (credits(3), credits(1)));
        assert_eq!(budget.missing(credits(3)), credits(0));
    }

    /// C20, E08, E10: what was really spent counts, also beyond what was left,
    /// and the next call is refused.
    #[test]
    fn c20_an_overrun_closes_the_budget() {
        let mut turn = TurnBudget {
            reserved: credits(2),
            top_up: credits(1),
            session: credits(50),
            team: Some(credits(50)),
        };
        turn.record(credits(9));
        assert_eq!(
            (turn.reserved, turn.top_up, turn.session),
            (credits(0), credits(0), credits(41))
        );
        assert!(turn.check_model_call().is_err());
        let agent = AgentId::from_u128(1);
        let mut team = TeamBudget::new(credits(5), agent);
        team.record(agent, credits(7));
        assert_eq!((team.remaining(), team.per_agent[&agent]), (credits(0), credits(7)));
        assert!(team.spend(agent, credits(1)).is_err());
        let mut session = SessionBudget::default();
        session.record(credits(60));
        assert_eq!(session.spending(), SessionSpending::Closed);
    }
}
