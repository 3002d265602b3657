//! The business records of an org, as its object store keeps them. Each kind is
//! a type; what a newer program adds to one is ignored.

mod booking;
mod calendar;
mod money;
mod offers;
mod orders;
mod refunds;

use ostler_domain::id::RecordId;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use booking::{Booking, BookingStatus, Cancellation};
pub(crate) use calendar::{CalendarDay, Slot, WHOLE, busiest, day_id, days};
pub use money::{BadMoney, Currency, Money};
pub use offers::{Bookable, Event, Form, FormField, FormResponse, Price, Product, Resource};
pub use orders::{Media, Order, OrderLine};
pub use refunds::{Refund, Refunds};

/// A kind of record.
pub trait Entity: Serialize + DeserializeOwned {
    /// The name that the store lists it by.
    const KIND: &'static str;

    /// All of it, as the store keeps it.
    fn to_data(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// The kind under which the store lists the responses to one form.
pub fn responses_of(form: RecordId) -> String {
    format!("form_response/{form}")
}
