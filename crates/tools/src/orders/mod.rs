//! Orders.

mod get_order;

pub(crate) use get_order::GetOrder;
