//! The `Orders` group: tools for orders and refunds.

mod get_order;
mod order_lookup;
mod provider_refund;
mod refund_payment;

pub(crate) use get_order::GetOrder;
pub(crate) use provider_refund::refund_through;
pub(crate) use refund_payment::RefundPayment;
