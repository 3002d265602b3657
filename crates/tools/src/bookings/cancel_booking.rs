//! The `cancel_booking` tool.

use ostler_domain::id::RecordId;
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::booking_json;
use crate::effects::{EffectError, StoreEffect};
use crate::records::{Booking, BookingStatus};
use crate::store_tool::{CallContext, StoreTool, ToolError};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The id of the booking, from create_booking or query_org_data: rec_…
    #[schemars(with = "String", length(max = 64))]
    booking_id: RecordId,
    /// The reason in a few words.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
}

pub(crate) struct CancelBooking;

impl StoreTool for CancelBooking {
    const DESCRIPTION: &'static str = "Cancels a booking that is not over yet and frees its places. \
        It cannot be undone: somebody else may take the places at once.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let Arguments { booking_id: id, reason } = arguments;
        let clock = context.clock().await?;
        let found = context.overlay.record::<Booking>(id).await?;
        let found = found.filter(|(_, booking)| context.may_access(booking.contact));
        let Some((_, booking)) = found else {
            return Err(EffectError::BookingNotFound(id).into());
        };
        let mut answer = booking_json(id, &booking, &clock);
        // Customers write the notes; nothing here needs them.
        answer["notes"].take();
        if booking.status == BookingStatus::Cancelled {
            return Err(ToolError::Refused(format!("This booking is cancelled already: {answer}")));
        }
        if booking.ends_at <= clock.now() {
            return Err(ToolError::Refused(format!(
                "Nothing was cancelled: the booking is over. {answer}"
            )));
        }
        let effect = StoreEffect::CancelBooking { id, at: clock.now(), reason };
        context.finish(effect, &json!({ "cancelled": answer })).await
    }
}
