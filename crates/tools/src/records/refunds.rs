//! What was given back of an order.

use jiff::Timestamp;
use ostler_domain::id::{AgentId, RecordId};
use serde::{Deserialize, Serialize};

use super::{Entity, Money};

/// All refunds of one order; it has the order's id. Since each refund changes it,
/// two that are made at the same time see each other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Refunds {
    /// The number of the order, as it was when the first was made.
    pub order_number: String,
    /// The refunds, the oldest first.
    #[serde(default)]
    pub refunds: Vec<Refund>,
}

impl Entity for Refunds {
    const KIND: &'static str = "refunds";
}

/// A refund.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    /// Its id.
    pub id: RecordId,
    /// How much.
    pub amount: Money,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// Which agent made it.
    pub agent: AgentId,
}

impl Refunds {
    /// What was given back altogether, if all is of one currency.
    pub fn total(&self) -> Option<Money> {
        let first = Money::zero(self.refunds.first()?.amount.currency());
        self.refunds.iter().try_fold(first, |sum, refund| sum.plus(refund.amount))
    }
}
