//! Orders.

use jiff::Timestamp;
use ostler_domain::id::ContactId;
use serde::{Deserialize, Serialize};

use super::{Entity, Price};

/// An order of a customer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The number that the customer was given.
    pub number: String,
    /// `None` if the customer is not a known contact.
    #[serde(default)]
    pub contact: Option<ContactId>,
    /// Free text, in the org's own words.
    pub status: String,
    #[serde(default)]
    pub lines: Vec<OrderLine>,
    #[serde(default)]
    pub total: Option<Price>,
    pub placed_at: Timestamp,
}

impl Entity for Order {
    const KIND: &'static str = "order";
}

/// A line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderLine {
    pub name: String,
    pub quantity: u32,
    /// The price of one.
    #[serde(default)]
    pub price: Option<Price>,
}
