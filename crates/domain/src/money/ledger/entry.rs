//! The entries of a ledger.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, OrgId};
use crate::money::Credits;
use crate::tool::ToolName;

/// What a charge is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expense {
    /// Model calls without a record of the model.
    Model,
    /// Calls of the model with this name.
    ModelCalls(String),
    Tool(ToolName),
    /// Something that the agency's owner spent while testing an agent.
    Test(Box<Expense>),
}

impl Expense {
    /// Marks an expense as spent in a test. Repeating it changes nothing.
    #[must_use]
    pub fn in_test(self) -> Self {
        match self {
            already @ Self::Test(_) => already,
            other => Self::Test(Box::new(other)),
        }
    }

    /// Returns what was spent on, whether or not in a test.
    pub fn tested(&self) -> &Self {
        match self {
            Self::Test(tested) => tested,
            other => other,
        }
    }
}

/// An expense and its amount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    pub expense: Expense,
    pub amount: Credits,
}

/// The party that bears the cost of a ledger entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostBearer {
    /// The org itself.
    Own,
    /// The org, for this child of it.
    ForChild(OrgId),
    /// The org's parent: an entry for the audit that moves no credits.
    PaidByParent(OrgId),
    /// The platform, because the cost exceeded the reservation. The entry is in the
    /// org's ledger for the record and moves none of its credits.
    Overrun,
}

impl CostBearer {
    /// Returns whether the entry moved credits of the org whose ledger it is in.
    pub const fn moves_credits(self) -> bool {
        matches!(self, Self::Own | Self::ForChild(_))
    }
}

/// An entry in an org's ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The org whose ledger it is in.
    pub org: OrgId,
    /// The agent that spent it.
    pub budget_owner: AgentId,
    pub expense: Expense,
    pub amount: Credits,
    pub bearer: CostBearer,
}
