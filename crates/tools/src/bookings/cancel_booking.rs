//! `cancel_booking`

use ostler_domain::id::RecordId;
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::shown;
use crate::effects::{EffectError, StoreEffect};
use crate::local::{Desk, LocalTool, Problem};
use crate::records::{Booking, BookingStatus};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The id of the booking, from create_booking or query_org_data: rec_…
    #[schemars(with = "String", length(max = 64))]
    booking_id: RecordId,
    /// Why it is cancelled, in a few words.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
}

pub(crate) struct CancelBooking;

impl LocalTool for CancelBooking {
    const DESCRIPTION: &'static str = "Cancels a booking that is still to come and gives its place \
        to others. It cannot be undone: the place may be gone at once.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Arguments { booking_id: id, reason } = arguments;
        let clock = desk.clock().await?;
        let Some((_, booking)) = desk.view.record::<Booking>(id).await? else {
            return Err(EffectError::NoBooking(id).into());
        };
        let told = shown(id, &booking, &clock);
        if booking.status == BookingStatus::Cancelled {
            return Err(Problem::Declined(format!("This booking was cancelled before: {told}")));
        }
        if booking.ends_at <= clock.now() {
            return Err(Problem::Declined(format!("Nothing was cancelled: it is over. {told}")));
        }
        let effect = StoreEffect::CancelBooking { id, at: clock.now(), reason };
        desk.done(effect, &json!({ "cancelled": told })).await
    }
}
