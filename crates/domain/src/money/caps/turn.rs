//! The budget of one turn: the tightest of org, session and team.

use serde::{Deserialize, Serialize};

use crate::money::Credits;
use crate::money::price::MINIMUM_CHARGE;

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
    /// The last of that, which is kept for reading.
    pub kept_for_reading: Credits,
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

    /// Whether the session has spent so much that only reading is left.
    pub fn only_reading(&self) -> bool {
        self.session <= self.kept_for_reading
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

    /// Gives back what was counted for something that is counted anew.
    pub fn refund(&mut self, amount: Credits) {
        self.reserved = self.reserved + amount;
        self.session = self.session + amount;
        self.team = self.team.map(|left| left + amount);
    }

    /// The budget without what is under way and not counted yet.
    #[must_use]
    pub fn without(mut self, under_way: Credits) -> Self {
        self.record(under_way);
        self
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
