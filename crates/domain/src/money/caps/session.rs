//! The cap on what one session may spend.

use serde::{Deserialize, Serialize};

use crate::money::Credits;

/// The budget of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionBudget {
    pub cap: Credits,
    /// From here on only tools that read may run.
    pub warning: Credits,
    pub spent: Credits,
}

/// What a session may still do, by its spending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpendingMode {
    /// All tools.
    Open,
    /// Only tools that read.
    ReadOnly,
    /// Nothing: no model is called, the customer is told and the owner notified.
    Closed,
}

impl Default for SessionBudget {
    fn default() -> Self {
        Self { cap: Credits::new(50), warning: Credits::new(40), spent: Credits::ZERO }
    }
}

impl SessionBudget {
    /// Returns what is left of the cap.
    pub const fn remaining(&self) -> Credits {
        self.cap.saturating_sub(self.spent)
    }

    /// Returns the last part of the cap, which is reserved for tools that read.
    pub const fn read_reserve(&self) -> Credits {
        self.cap.saturating_sub(self.warning)
    }

    /// Records actual spending, also beyond the cap.
    pub fn record(&mut self, amount: Credits) {
        self.spent = self.spent + amount;
    }

    /// Returns what the spending so far allows.
    pub fn spending_mode(&self) -> SpendingMode {
        if self.spent >= self.cap {
            SpendingMode::Closed
        } else if self.spent >= self.warning {
            SpendingMode::ReadOnly
        } else {
            SpendingMode::Open
        }
    }
}
