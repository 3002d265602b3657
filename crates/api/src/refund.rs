//! Refunds that agents asked for and people pay or refuse.

use ostler_domain::id::{AgentId, RecordId, SessionId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A refund of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refund {
    pub id: RecordId,
    pub order: RecordId,
    pub order_number: String,
    /// As people write it, such as `12.50`.
    pub amount: String,
    pub currency: String,
    pub reason: String,
    pub at: Timestamp,
    pub agent: AgentId,
    pub session: Option<SessionId>,
    /// In words.
    pub status: String,
    pub state: RefundState,
    /// What the person who paid or refused it wrote.
    pub note: Option<String>,
}

/// Whether a refund was paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefundState {
    /// A person has to pay or refuse it.
    Requested,
    Paid,
    Refused,
}

/// Body of `POST refunds/REFUND/settle`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettleRefundRequest {
    pub decision: RefundVerdict,
    /// For the agent and the record.
    #[serde(default)]
    pub note: Option<String>,
}

/// What was decided about a refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefundVerdict {
    Paid,
    Refused,
}

/// A decided refund.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettledRefund {
    pub refund: Refund,
    /// Whether an agent tells the customer.
    pub customer_is_told: bool,
}
