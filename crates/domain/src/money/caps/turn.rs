//! The budget of one turn: the tightest of org, session and team.

use serde::{Deserialize, Serialize};

use crate::money::Credits;
use crate::money::price::MINIMUM_CHARGE;

/// The limits of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetLimit {
    Org,
    Session,
    Team,
    /// What a subagent, or one that it works for, may spend.
    Subagent,
}

/// A cost that exceeds the budget of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("this costs {wanted} and the {} has {remaining} left", limit_name(*.limit))]
pub struct BudgetExceeded {
    pub wanted: Credits,
    pub remaining: Credits,
    /// The tightest limit.
    pub limit: BudgetLimit,
}

const fn limit_name(limit: BudgetLimit) -> &'static str {
    match limit {
        BudgetLimit::Org => "org",
        BudgetLimit::Session => "session",
        BudgetLimit::Team => "team",
        BudgetLimit::Subagent => "subagent",
    }
}

/// The budget of one turn: loaded once, then counted down in memory, so that no
/// tool call queries the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnBudget {
    /// Left of the reservation.
    pub reserved: Credits,
    /// What the org could add to the reservation when the turn began.
    pub top_up: Credits,
    /// Left of the session's cap.
    pub session: Credits,
    /// The last part of the session cap, which is reserved for tools that read.
    pub read_reserve: Credits,
    /// Left of the team's budget, in a team session.
    pub team: Option<Credits>,
    /// Left of what the subagent that acts may spend, if it has a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<Credits>,
}

impl TurnBudget {
    /// Returns what the tightest limit leaves, and which limit it is.
    pub fn tightest_limit(&self) -> (Credits, BudgetLimit) {
        let mut tightest = (self.reserved + self.top_up, BudgetLimit::Org);
        let others = [
            (Some(self.session), BudgetLimit::Session),
            (self.team, BudgetLimit::Team),
            (self.subagent, BudgetLimit::Subagent),
        ];
        for (left, limit) in others {
            if let Some(left) = left
                && left < tightest.0
            {
                tightest = (left, limit);
            }
        }
        tightest
    }

    /// Checks that an amount can be paid.
    pub fn check(&self, wanted: Credits) -> Result<(), BudgetExceeded> {
        let (remaining, limit) = self.tightest_limit();
        if wanted > remaining { Err(BudgetExceeded { wanted, remaining, limit }) } else { Ok(()) }
    }

    /// Checks that a model may be called: the minimum charge must be affordable.
    pub fn check_model_call(&self) -> Result<(), BudgetExceeded> {
        self.check(MINIMUM_CHARGE)
    }

    /// Returns whether the session is near its cap, so that only tools that read may
    /// run.
    pub fn is_read_only(&self) -> bool {
        self.session <= self.read_reserve
    }

    /// Returns what must be added to the reservation before this can be spent.
    pub const fn shortfall(&self, wanted: Credits) -> Credits {
        wanted.saturating_sub(self.reserved)
    }

    /// Records what was added to the reservation.
    pub fn record_top_up(&mut self, added: Credits) {
        self.reserved = self.reserved + added;
        self.top_up = self.top_up.saturating_sub(added);
    }

    /// Spends an amount. Fails and changes nothing if it is more than is left.
    pub fn spend(&mut self, amount: Credits) -> Result<(), BudgetExceeded> {
        self.check(amount)?;
        self.record(amount);
        Ok(())
    }

    /// Returns an amount to the budget, before the same work is counted again.
    pub fn refund(&mut self, amount: Credits) {
        self.reserved = self.reserved + amount;
        self.session = self.session + amount;
        self.team = self.team.map(|left| left + amount);
        self.subagent = self.subagent.map(|left| left + amount);
    }

    /// Returns the budget less work in progress that is not recorded yet.
    #[must_use]
    pub fn minus_pending(mut self, pending: Credits) -> Self {
        self.record(pending);
        self
    }

    /// Records actual spending. An answer that cost more than was left brings the
    /// budget to zero, so that the next call is refused.
    pub fn record(&mut self, amount: Credits) {
        let beyond = self.shortfall(amount);
        self.reserved = self.reserved.saturating_sub(amount);
        self.top_up = self.top_up.saturating_sub(beyond);
        self.session = self.session.saturating_sub(amount);
        self.team = self.team.map(|left| left.saturating_sub(amount));
        self.subagent = self.subagent.map(|left| left.saturating_sub(amount));
    }
}
