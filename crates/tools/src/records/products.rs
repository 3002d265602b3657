//! Products, and the resources that they share.

use std::collections::BTreeSet;

use ostler_domain::id::RecordId;
use serde::{Deserialize, Serialize};

use super::{Entity, Price};

/// A product or service that an org sells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub price: Option<Price>,
    #[serde(default)]
    pub tags: BTreeSet<String>,
    /// Whether it is on sale at the moment.
    #[serde(default = "active_by_default")]
    pub active: bool,
    /// `None` means that it cannot be booked.
    #[serde(default)]
    pub bookable: Option<BookingTerms>,
}

const fn active_by_default() -> bool {
    true
}

impl Entity for Product {
    const KIND: &'static str = "product";
}

/// How a product is booked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingTerms {
    /// Places at the same time.
    pub capacity: u32,
    /// The length of a booking unless the caller asks for another.
    pub duration_minutes: u32,
    /// The resource whose places it takes, shared with the other products that use it.
    /// The capacity of the resource then replaces `capacity`.
    #[serde(default)]
    pub resource: Option<RecordId>,
}

/// Something that several products need: a room, a table, a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookableResource {
    pub name: String,
    /// Places at the same time.
    pub capacity: u32,
}

impl Entity for BookableResource {
    const KIND: &'static str = "resource";
}
