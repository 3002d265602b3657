//! Refunds of orders.

use jiff::Timestamp;
use ostler_domain::id::{AgentId, RecordId, SessionId};
use ostler_domain::refund::{REFUNDS, RefundStatus};
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
    const KIND: &'static str = REFUNDS;
}

/// One refund of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    pub id: RecordId,
    pub amount: Money,
    pub reason: String,
    pub at: Timestamp,
    pub agent: AgentId,
    /// The conversation in which it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    #[serde(default)]
    pub status: RefundStatus,
    /// What the person who paid or refused it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Refunds {
    /// Returns the sum of the refunds that were not refused, or `None` without any or with
    /// different currencies.
    pub fn total(&self) -> Option<Money> {
        sum(self.counted())
    }

    /// Returns the refunds that were not refused.
    pub fn counted(&self) -> impl Iterator<Item = &Refund> {
        self.refunds.iter().filter(|refund| refund.status.counts())
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
