//! The effect of a refund. Requests never exceed the total of the order, also with concurrent
//! ones.

use ostler_domain::id::RecordId;
use ostler_domain::refund::RefundStatus;

use super::EffectError;
use crate::overlay::StoreOverlay;
use crate::records::{Money, Order, Refund, Refunds};

/// The most refunds of one order.
const MAX_REFUNDS: usize = 100;

/// Why an order cannot be refunded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefundError {
    #[error("order {0} has no usable total, so a person has to refund it")]
    NoTotal(String),
    #[error("the total of order {number} is {total}, which is another currency")]
    CurrencyMismatch { number: String, total: Money },
    #[error("the total of order {number} is {total}, and {left} of it can still be refunded")]
    ExceedsOrder { number: String, total: Money, left: Money },
    #[error("the amount of a refund must be more than zero")]
    ZeroAmount,
    #[error("order {0} has {MAX_REFUNDS} refunds already")]
    TooManyRefunds(String),
}

/// Returns the total of an order and how much of it can still be refunded.
pub(crate) fn refundable_amount(
    order: &Order,
    refunds: &Refunds,
) -> Result<(Money, Money), RefundError> {
    let no_total = || RefundError::NoTotal(order.number.clone());
    let total = order.total.clone().and_then(|total| Money::try_from(total).ok());
    let total = total.ok_or_else(no_total)?;
    if refunds.counted().next().is_none() {
        return Ok((total, total));
    }
    // The total may have been lowered below what was refunded; then nothing is left.
    let refunded = refunds.total().filter(|sum| sum.currency() == total.currency());
    let left = total.checked_sub(refunded.ok_or_else(no_total)?);
    Ok((total, left.unwrap_or(Money::zero(total.currency()))))
}

pub(super) async fn create(
    overlay: &mut StoreOverlay<'_>,
    order_id: RecordId,
    refund: &Refund,
) -> Result<(), EffectError> {
    let read = overlay.record::<Order>(order_id).await?;
    let (_, order) = read.ok_or(EffectError::OrderNotFound(order_id))?;
    let (version, mut refunds) = match overlay.record::<Refunds>(order_id).await? {
        Some((version, refunds)) => (Some(version), refunds),
        None => (None, Refunds { order_number: order.number.clone(), refunds: Vec::new() }),
    };
    if refunds.refunds.iter().any(|existing| existing.id == refund.id) {
        return Ok(());
    }
    // Money that has been paid is recorded, whatever the order says by now.
    if refund.status == RefundStatus::Requested {
        check(&order, &refunds, refund.amount)?;
    }
    refunds.refunds.push(refund.clone());
    overlay.put(order_id, version, &refunds)
}

fn check(order: &Order, refunds: &Refunds, amount: Money) -> Result<(), RefundError> {
    let (total, left) = refundable_amount(order, refunds)?;
    let number = || order.number.clone();
    if amount.is_zero() {
        return Err(RefundError::ZeroAmount);
    }
    if amount.currency() != total.currency() {
        return Err(RefundError::CurrencyMismatch { number: number(), total });
    }
    if left.checked_sub(amount).is_none() {
        return Err(RefundError::ExceedsOrder { number: number(), total, left });
    }
    if refunds.refunds.len() >= MAX_REFUNDS {
        return Err(RefundError::TooManyRefunds(number()));
    }
    Ok(())
}
