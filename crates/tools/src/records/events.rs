//! Events: offers at a fixed time.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Entity, Price};

/// An event of an org at a fixed time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalendarEvent {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub location: Option<String>,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    /// `None` means that it cannot be booked.
    #[serde(default)]
    pub capacity: Option<u32>,
    /// The price of one place.
    #[serde(default)]
    pub price: Option<Price>,
    #[serde(default)]
    pub tags: BTreeSet<String>,
}

impl Entity for CalendarEvent {
    const KIND: &'static str = "event";
}
