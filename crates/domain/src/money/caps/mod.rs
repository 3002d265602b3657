//! Caps inside a session: its own, its team's, and the budget of one turn.

mod session;
mod team;
mod turn;

use serde::{Deserialize, Serialize};

use super::Credits;

pub use session::{SessionBudget, SessionSpending};
pub use team::{TeamBudget, TeamExhausted};
pub use turn::{BudgetLimit, OverBudget, TurnBudget};

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
mod tests;
