//! Bookings of products and events.

use jiff::Timestamp;
use ostler_domain::id::{ContactId, RecordId};
use serde::{Deserialize, Serialize};

use super::Entity;

/// A booking of a product or an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    pub item: RecordId,
    /// The record whose places it takes: the item or a resource. Set when the booking
    /// is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<RecordId>,
    /// The name of the item at the time of booking.
    pub name: String,
    #[serde(default)]
    pub contact: Option<ContactId>,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    /// Number of places.
    pub quantity: u32,
    pub status: BookingStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<Cancellation>,
}

impl Entity for Booking {
    const KIND: &'static str = "booking";
}

/// Whether a booking is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BookingStatus {
    Confirmed,
    Cancelled,
}

/// When and why a booking was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancellation {
    pub at: Timestamp,
    pub reason: String,
}
