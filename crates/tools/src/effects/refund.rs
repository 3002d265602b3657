//! Refunds: never more than the order cost, whoever else refunds it.

use ostler_domain::id::RecordId;

use super::EffectError;
use crate::records::{Money, Order, Refund, Refunds};
use crate::view::View;

/// The most refunds of one order.
const MOST: usize = 100;

/// Why an order is not refunded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRefundable {
    /// Nobody wrote down what it cost.
    #[error("order {0} has no total that can be calculated with, so a person has to do it")]
    NoTotal(String),
    /// It was paid in another currency.
    #[error("order {number} is {total}, which is another currency")]
    OtherCurrency {
        /// The order.
        number: String,
        /// What it cost.
        total: Money,
    },
    /// It would be more than it cost.
    #[error("order {number} is {total}, and {left} of it can still be refunded")]
    TooMuch {
        /// The order.
        number: String,
        /// What it cost.
        total: Money,
        /// What is left.
        left: Money,
    },
    /// Nothing is nothing.
    #[error("a refund is more than nothing")]
    Nothing,
    /// It was refunded too often.
    #[error("order {0} was refunded {MOST} times already")]
    TooOften(String),
}

/// What can still be refunded of an order.
pub(crate) fn left_of(order: &Order, refunds: &Refunds) -> Result<(Money, Money), NotRefundable> {
    let no_total = || NotRefundable::NoTotal(order.number.clone());
    let total = order.total.clone().and_then(|total| Money::try_from(total).ok());
    let total = total.ok_or_else(no_total)?;
    if refunds.refunds.is_empty() {
        return Ok((total, total));
    }
    // If the total was lowered since, nothing is left of it.
    let refunded = refunds.total().filter(|sum| sum.currency() == total.currency());
    let left = total.minus(refunded.ok_or_else(no_total)?);
    Ok((total, left.unwrap_or(Money::zero(total.currency()))))
}

pub(super) async fn create(
    view: &mut View<'_>,
    order_id: RecordId,
    refund: &Refund,
) -> Result<(), EffectError> {
    let read = view.record::<Order>(order_id).await?;
    let (_, order) = read.ok_or(EffectError::NoOrder(order_id))?;
    let (version, mut refunds) = match view.record::<Refunds>(order_id).await? {
        Some((version, refunds)) => (Some(version), refunds),
        None => (None, Refunds { order_number: order.number.clone(), refunds: Vec::new() }),
    };
    if refunds.refunds.iter().any(|known| known.id == refund.id) {
        return Ok(());
    }
    check(&order, &refunds, refund.amount)?;
    refunds.refunds.push(refund.clone());
    view.put(order_id, version, &refunds)
}

fn check(order: &Order, refunds: &Refunds, amount: Money) -> Result<(), NotRefundable> {
    let (total, left) = left_of(order, refunds)?;
    let number = || order.number.clone();
    if amount.is_zero() {
        return Err(NotRefundable::Nothing);
    }
    if amount.currency() != total.currency() {
        return Err(NotRefundable::OtherCurrency { number: number(), total });
    }
    if left.minus(amount).is_none() {
        return Err(NotRefundable::TooMuch { number: number(), total, left });
    }
    if refunds.refunds.len() >= MOST {
        return Err(NotRefundable::TooOften(number()));
    }
    Ok(())
}
