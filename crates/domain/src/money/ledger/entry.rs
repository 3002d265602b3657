//! The lines of a ledger.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, OrgId};
use crate::money::Credits;
use crate::tool::ToolName;

/// What was paid for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expense {
    /// Model calls.
    Model,
    /// A call of this tool.
    Tool(ToolName),
}

/// An expense and its price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// What for.
    pub expense: Expense,
    /// How much.
    pub amount: Credits,
}

/// Who bears an entry of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bearer {
    /// The org itself.
    Own,
    /// The org, for this child of it.
    ForChild(OrgId),
    /// The org's parent: an entry for the audit that moves no credits.
    PaidByParent(OrgId),
    /// The platform: the cost went beyond what was reserved. The line is in
    /// the org's ledger for the record and moves none of its credits.
    Overrun,
}

impl Bearer {
    /// Whether the line moved credits of the org whose ledger it is in.
    pub const fn moves_credits(self) -> bool {
        matches!(self, Self::Own | Self::ForChild(_))
    }
}

/// A line in an org's ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The org whose ledger it is in.
    pub org: OrgId,
    /// The agent that spent it.
    pub budget_owner: AgentId,
    /// What for.
    pub expense: Expense,
    /// How much.
    pub amount: Credits,
    /// Who bears it.
    pub bearer: Bearer,
}
