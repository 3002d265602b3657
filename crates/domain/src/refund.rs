//! Refunds that agents ask for: an organization without a payment provider pays or refuses
//! each request by hand.

use serde::{Deserialize, Serialize};

/// The kind of the record that holds all refunds of an order, under the id of the order.
pub const REFUNDS: &str = "refunds";

/// Whether a refund was paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundStatus {
    /// A person has to pay or refuse it.
    #[default]
    Requested,
    /// The payment provider or a person has paid it.
    Made,
    /// A person has refused it. Its amount can be refunded again.
    Refused,
}

/// The decision of a person on a requested refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundDecision {
    Paid,
    Refused,
}

/// A refund is decided once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this refund is {} already", .0.description())]
pub struct RefundSettled(pub RefundStatus);

impl RefundStatus {
    /// Returns the status in the words that people read.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Requested => "to be paid",
            Self::Made => "paid",
            Self::Refused => "refused",
        }
    }

    /// Whether the amount counts against what can still be refunded.
    pub const fn counts(self) -> bool {
        !matches!(self, Self::Refused)
    }

    /// Returns the status after a decision. Fails if the refund was decided before.
    pub const fn settle(self, decision: RefundDecision) -> Result<Self, RefundSettled> {
        match (self, decision) {
            (Self::Requested, RefundDecision::Paid) => Ok(Self::Made),
            (Self::Requested, RefundDecision::Refused) => Ok(Self::Refused),
            (settled, _) => Err(RefundSettled(settled)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RefundDecision::{Paid, Refused as Refuse};
    use super::RefundStatus::{Made, Refused, Requested};
    use super::{RefundSettled, RefundStatus};

    #[test]
    fn o18_a_refund_is_decided_once() {
        let table = [
            (Requested, Paid, Ok(Made)),
            (Requested, Refuse, Ok(Refused)),
            (Made, Paid, Err(RefundSettled(Made))),
            (Made, Refuse, Err(RefundSettled(Made))),
            (Refused, Paid, Err(RefundSettled(Refused))),
            (Refused, Refuse, Err(RefundSettled(Refused))),
        ];
        for (status, decision, expected) in table {
            assert_eq!(status.settle(decision), expected, "{status:?} {decision:?}");
        }
        assert_eq!([Requested, Made, Refused].map(RefundStatus::counts), [true, true, false]);
    }
}
