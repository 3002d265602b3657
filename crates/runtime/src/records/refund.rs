//! Refunds that agents asked for, as the tools store them: one record for each order.

use ostler_domain::id::{AgentId, RecordId, SessionId};
use ostler_domain::refund::RefundStatus;
use serde::{Deserialize, Serialize};

/// The refunds of an order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct OrderRefunds {
    pub(crate) order_number: String,
    /// Oldest first.
    #[serde(default)]
    pub(crate) refunds: Vec<RefundRequest>,
}

/// A refund that an agent asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundRequest {
    pub id: RecordId,
    pub amount: RefundAmount,
    pub reason: String,
    pub at: jiff::Timestamp,
    pub agent: AgentId,
    /// The conversation in which it was asked for.
    #[serde(default)]
    pub session: Option<SessionId>,
    #[serde(default)]
    pub status: RefundStatus,
    /// What the person who paid or refused it wrote.
    #[serde(default)]
    pub note: Option<String>,
}

/// An amount as people write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundAmount {
    pub amount: String,
    pub currency: String,
}

impl std::fmt::Display for RefundAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.amount, self.currency)
    }
}
