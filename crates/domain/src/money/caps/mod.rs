//! Spending caps of a session, of its team, and of one turn.

mod session;
mod team;
mod turn;

use serde::{Deserialize, Serialize};

use super::Credits;

pub use session::{SessionBudget, SpendingMode};
pub use team::{TeamBudget, TeamBudgetExceeded};
pub use turn::{BudgetExceeded, BudgetLimit, TurnBudget};

/// The three budgets that a harness shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetView {
    /// Left for this session.
    pub session_budget: Credits,
    /// Left for the org today; `None` without a limit.
    pub org_budget: Option<Credits>,
    /// Left of what the parent pays today; `None` for a top-level org.
    pub parent_budget: Option<Credits>,
}

#[cfg(test)]
mod tests;
