//! Refunds of orders.

use jiff::Timestamp;
use ostler_domain::id::{AgentId, RecordId};
use serde::{Deserialize, Serialize};

use super::{Entity, Money};

/// All refunds of one order, stored under the order's id. Since every refund changes
/// this one record, concurrent refunds conflict instead of exceeding the total.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Refunds {
    /// The number of the order at the time of the first refund.
    pub order_number: String,
    /// Oldest first.
    #[serde(default)]
    pub refunds: Vec<Refund>,
}

impl Entity for Refunds {
    const KIND: &'static str = "refunds";
}

/// One refund of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    pub id: RecordId,
    pub amount: Money,
    pub reason: String,
    pub at: Timestamp,
    pub agent: AgentId,
}

impl Refunds {
    /// Returns the sum, or `None` without refunds or with different currencies.
    pub fn total(&self) -> Option<Money> {
        let first = Money::zero(self.refunds.first()?.amount.currency());
        self.refunds.iter().try_fold(first, |sum, refund| sum.checked_add(refund.amount))
    }
}
