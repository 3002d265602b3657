//! A booking.

use jiff::Timestamp;
use ostler_domain::id::{ContactId, RecordId};
use serde::{Deserialize, Serialize};

use super::Entity;

/// A booking of a product or an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    /// The product or the event.
    pub item: RecordId,
    /// Whose places it takes: the item's own, or those of a resource. It is filled
    /// in when the booking is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<RecordId>,
    /// What the item was called when it was booked.
    pub name: String,
    /// For whom, if they are known.
    #[serde(default)]
    pub contact: Option<ContactId>,
    /// When it begins.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// How many places it takes.
    pub quantity: u32,
    /// Whether it holds.
    pub status: BookingStatus,
    /// What was asked for besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// When and why it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<Cancellation>,
}

impl Entity for Booking {
    const KIND: &'static str = "booking";
}

/// Whether a booking holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BookingStatus {
    /// It holds.
    Confirmed,
    /// It does not hold any more.
    Cancelled,
}

/// When and why a booking was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancellation {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
}
