//! Bookings of products and events.

mod cancel_booking;
mod create_booking;

use ostler_domain::id::RecordId;
use serde_json::{Value, json};

pub(crate) use cancel_booking::CancelBooking;
pub(crate) use create_booking::CreateBooking;

use crate::records::Booking;
use crate::when::Clock;

/// A booking as a model is shown it.
fn shown(id: RecordId, booking: &Booking, clock: &Clock) -> Value {
    json!({
        "id": id, "name": booking.name, "contact_id": booking.contact,
        "starts_at": clock.shown(booking.starts_at), "ends_at": clock.shown(booking.ends_at),
        "quantity": booking.quantity, "status": booking.status, "notes": booking.notes,
    })
}
