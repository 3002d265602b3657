//! The `create_booking` tool.

use std::time::Duration;

use jiff::Timestamp;
use ostler_domain::id::{ContactId, RecordId};
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::booking_json;
use crate::effects::{BookingTime, EffectError, StoreEffect, find_calendar};
use crate::ids;
use crate::org_clock::OrgClock;
use crate::records::{Booking, BookingStatus};
use crate::store_tool::{CallContext, StoreTool, ToolError};

const MAX_MINUTES: u32 = 31 * 24 * 60;
/// How far in the future a booking may start.
const MAX_AHEAD: Duration = Duration::from_secs(3 * 366 * 86_400);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The id of the product or event, from list_products or list_events: rec_…
    #[schemars(with = "String", length(max = 64))]
    item_id: RecordId,
    /// The start. 2026-11-20T19:30 is in the organization's time zone; add an offset
    /// for another one. Leave it out for an event, which has a fixed time.
    #[serde(default)]
    #[schemars(length(max = 64))]
    starts_at: Option<String>,
    /// The length in minutes; the usual length of the product if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 44640))]
    duration_minutes: Option<u32>,
    /// The number of places, such as the number of people; 1 if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    quantity: Option<u32>,
    /// The contact to book for: con_…; the person you talk with if left out.
    #[serde(default)]
    #[schemars(with = "Option<String>", length(max = 64))]
    contact_id: Option<ContactId>,
    /// Special requests.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    notes: Option<String>,
}

pub(crate) struct CreateBooking;

impl StoreTool for CreateBooking {
    const DESCRIPTION: &'static str = "Books a product at a time, or places at an event, if enough \
        places are free. Ask for all details first; the booking is valid at once. If there are \
        not enough places, the answer says how many are left.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let clock = context.clock().await?;
        let calendar = find_calendar(&context.overlay, arguments.item_id).await?;
        let (starts_at, ends_at) = booking_period(&arguments, &calendar.time, &clock)?;
        if let Some(contact) = arguments.contact_id
            && !(context.may_book_for(contact) && context.overlay.contact(contact).await?.is_some())
        {
            return Err(EffectError::ContactNotFound(contact).into());
        }
        let contact = arguments.contact_id.or(context.contact);
        let booking = Booking {
            item: arguments.item_id,
            calendar: Some(calendar.owner),
            name: calendar.name,
            contact,
            starts_at,
            ends_at,
            quantity: arguments.quantity.unwrap_or(1).max(1),
            status: BookingStatus::Confirmed,
            notes: arguments.notes.filter(|notes| !notes.trim().is_empty()),
            cancelled: None,
        };
        let id = RecordId::from_u128(ids::derive_uuid(context.tool_context, 0));
        let answer = json!({ "booked": booking_json(id, &booking, &clock) });
        context.finish(StoreEffect::CreateBooking { id, booking }, &answer).await
    }
}

/// Returns the start and end of a booking. Fails if the start is missing, in the past or
/// too far ahead.
fn booking_period(
    arguments: &Arguments,
    time: &BookingTime,
    clock: &OrgClock,
) -> Result<(Timestamp, Timestamp), ToolError> {
    let invalid = |reason: String| Err(ToolError::Invalid(reason));
    let (starts_at, ends_at) = match (time, &arguments.starts_at) {
        (BookingTime::Fixed(starts_at, ends_at), None) => (*starts_at, *ends_at),
        (BookingTime::Fixed(starts_at, ends_at), Some(text)) => {
            if clock.parse(text)? != *starts_at {
                let start = clock.format(*starts_at);
                return invalid(format!("This event is at {start}; leave starts_at out."));
            }
            (*starts_at, *ends_at)
        }
        (BookingTime::Flexible { .. }, None) => {
            return invalid("Give the start in starts_at.".to_owned());
        }
        (BookingTime::Flexible { minutes }, Some(text)) => {
            let starts_at = clock.parse(text)?;
            let minutes = arguments.duration_minutes.unwrap_or(*minutes);
            if minutes > MAX_MINUTES {
                return invalid(format!("A booking can take at most {MAX_MINUTES} minutes."));
            }
            (
                starts_at,
                starts_at
                    .saturating_add(Duration::from_secs(u64::from(minutes) * 60))
                    .unwrap_or(Timestamp::MAX),
            )
        }
    };
    let now = clock.now();
    if starts_at < now {
        return invalid(format!(
            "{} is in the past; it is {} now. Choose a time in the future.",
            clock.format(starts_at),
            clock.format(now)
        ));
    }
    if starts_at.duration_since(now).unsigned_abs() > MAX_AHEAD {
        return invalid(format!(
            "{} is too far ahead; it is {} now.",
            clock.format(starts_at),
            clock.format(now)
        ));
    }
    Ok((starts_at, ends_at))
}
