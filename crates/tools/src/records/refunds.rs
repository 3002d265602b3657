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
    #[serde(default)]
    pub status: RefundStatus,
}

/// Whether a refund was paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundStatus {
    /// A person has to pay it.
    #[default]
    Requested,
    /// The payment provider has made it.
    Made,
}

impl Refunds {
    /// Returns the sum, or `None` without refunds or with different currencies.
    pub fn total(&self) -> Option<Money> {
        sum(self.refunds.iter())
    }

    /// Returns the sum of the refunds with this status, like [`Refunds::total`].
    pub fn total_with(&self, status: RefundStatus) -> Option<Money> {
        sum(self.refunds.iter().filter(|refund| refund.status == status))
    }
}

fn sum<'r>(refunds: impl Iterator<Item = &'r Refund>) -> Option<Money> {
    let mut amounts = refunds.map(|refund| refund.amount);
    let first = amounts.next()?;
    amounts.try_fold(first, Money::checked_add)
}
