//! The business records of an org, as the store keeps them. Each kind is a type;
//! fields that are not known are ignored.

mod booking;
mod calendar;
mod events;
mod forms;
mod media;
mod money;
mod orders;
mod products;
mod refunds;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use booking::{Booking, BookingStatus, Cancellation};
pub(crate) use calendar::{ALL_DAYS, CalendarDay, Slot, day_id, days_between, peak_usage};
pub use events::CalendarEvent;
pub use forms::{Form, FormField, FormResponse, form_response_kind};
pub use media::MediaItem;
pub use money::{Currency, InvalidMoney, Money, Price};
pub use orders::{Order, OrderLine};
pub use products::{BookableResource, BookingTerms, Product};
pub use refunds::{Refund, Refunds};

/// A type of business record.
pub trait Entity: Serialize + DeserializeOwned {
    /// The name of the record kind in the store.
    const KIND: &'static str;

    /// Serializes the record for the store.
    fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}
