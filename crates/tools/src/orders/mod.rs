//! The `Orders` group: tools for orders and refunds.

mod get_order;
mod order_lookup;
mod provider_refund;
mod refund_payment;
mod verify_identity;

pub(crate) use get_order::GetOrder;
pub(crate) use provider_refund::refund_through;
pub(crate) use refund_payment::RefundPayment;
pub(crate) use verify_identity::verify_identity;
