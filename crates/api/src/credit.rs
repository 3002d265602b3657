//! Credit accounts and their ledgers.

use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The credit account of an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreditAccount {
    /// Credits that can be spent; `null` means no limit.
    pub available: Option<Credits>,
    /// In the order in which they are drawn on.
    pub pools: Vec<Pool>,
}

/// A pool of credits: `granted = available + reserved + spent + expired`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pool {
    pub pool: PoolKind,
    pub granted: Credits,
    pub available: Credits,
    /// Held for running turns.
    pub reserved: Credits,
    pub spent: Credits,
    /// Not used within the pool's period.
    pub expired: Credits,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerLine {
    /// Position in the ledger, which is the order of the list.
    pub id: i64,
    pub at: Timestamp,
    pub amount: Credits,
    pub kind: LedgerLineKind,
    /// Pool of a grant; `null` for an expense.
    pub pool: Option<PoolKind>,
    /// What an expense was for; `null` for a grant.
    pub expense: Option<LedgerExpense>,
    /// Reference of the grant.
    pub reference: Option<String>,
}

/// What an expense was for, and who bears it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerExpense {
    pub bearer: ExpenseBearer,
    /// The tool that was called; `null` for calls of a model.
    pub tool: Option<String>,
    /// The model that was called, if the agent named it.
    pub model: Option<String>,
    /// Whether a person tried it out.
    pub is_test: bool,
}

/// Who bears an expense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExpenseBearer {
    Own,
    /// This organization, for one of its clients.
    ForChild,
    /// The parent, for this organization.
    PaidByParent,
    /// The platform: the cost was above what was reserved.
    Platform,
}

/// Direction of a ledger line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LedgerLineKind {
    Grant,
    Expense,
}

/// Body of `POST credits/grants`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// Idempotency reference: a second grant with the same one changes nothing.
    pub reference: String,
    pub pool: PoolKind,
    pub amount: Credits,
}

/// What an org spent in some days. Lists begin with the largest sum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpendReport {
    /// The first day, such as `2026-11-19`; days are in UTC.
    pub since: String,
    /// The cost of the org's own work, also where others paid for it.
    pub total: Credits,
    /// The part of it that was spent in tests.
    pub tests: Credits,
    /// The part of it that the parent or the platform paid.
    pub paid_by_others: Credits,
    /// What the org paid for its clients, which is not in the total.
    pub for_clients: Credits,
    /// Days without costs are left out; oldest first.
    pub days: Vec<SpentOnDay>,
    pub agents: Vec<SpentByAgent>,
    /// `null` is what was spent without a record of the model.
    pub models: Vec<SpentOnName>,
    pub tools: Vec<SpentOnName>,
    /// The cost of the work of each client.
    pub clients: Vec<SpentByClient>,
}

/// What was spent on a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpentOnDay {
    pub day: String,
    pub credits: Credits,
}

/// What an agent spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpentByAgent {
    pub agent: AgentId,
    pub credits: Credits,
}

/// What was spent on a model or a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpentOnName {
    pub name: Option<String>,
    pub credits: Credits,
}

/// What the work of a client cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpentByClient {
    pub org: OrgId,
    pub slug: String,
    pub name: String,
    pub credits: Credits,
}
