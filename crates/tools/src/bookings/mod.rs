//! The `Bookings` group: tools that book products and events.

mod cancel_booking;
mod create_booking;

use ostler_domain::id::RecordId;
use serde_json::{Value, json};

pub(crate) use cancel_booking::CancelBooking;
pub(crate) use create_booking::CreateBooking;

use crate::org_clock::OrgClock;
use crate::records::Booking;

/// Returns a booking in the form that models receive.
fn booking_json(id: RecordId, booking: &Booking, clock: &OrgClock) -> Value {
    json!({
        "id": id, "name": booking.name, "contact_id": booking.contact,
        "starts_at": clock.format(booking.starts_at), "ends_at": clock.format(booking.ends_at),
        "quantity": booking.quantity, "status": booking.status, "notes": booking.notes,
    })
}
