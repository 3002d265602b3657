//! Orders and what is given back of them.

mod find;
mod get_order;
mod refund_payment;

pub(crate) use get_order::GetOrder;
pub(crate) use refund_payment::RefundPayment;
