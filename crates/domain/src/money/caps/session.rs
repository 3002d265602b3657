//! The cap on what one session may spend.

use serde::{Deserialize, Serialize};

use crate::money::Credits;

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

    /// The last of it, which is kept for reading.
    pub const fn kept_for_reading(&self) -> Credits {
        self.cap.saturating_sub(self.warning)
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
