//! `create_booking`

use std::time::Duration;

use jiff::Timestamp;
use ostler_domain::id::{ContactId, RecordId};
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::shown;
use crate::effects::{EffectError, StoreEffect, Time, calendar_of};
use crate::ids;
use crate::local::{Desk, LocalTool, Problem};
use crate::records::{Booking, BookingStatus};
use crate::when::Clock;

/// The longest booking.
const MAX_MINUTES: u32 = 31 * 24 * 60;
/// How far ahead something can be booked.
const MAX_AHEAD: Duration = Duration::from_secs(3 * 366 * 86_400);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The id of the product or event, from list_products or list_events: rec_…
    #[schemars(with = "String", length(max = 64))]
    item_id: RecordId,
    /// When it is to begin: 2026-11-20T19:30 is the organization's own time;
    /// another can be given with an offset. Leave it out for an event, which has
    /// its own time.
    #[serde(default)]
    #[schemars(length(max = 64))]
    starts_at: Option<String>,
    /// How long, in minutes; as long as the product usually takes if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 44640))]
    duration_minutes: Option<u32>,
    /// How many places, such as the number of people; 1 if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    quantity: Option<u32>,
    /// For whom: con_…; the person you talk with if left out.
    #[serde(default)]
    #[schemars(with = "Option<String>", length(max = 64))]
    contact_id: Option<ContactId>,
    /// What they asked for besides.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    notes: Option<String>,
}

pub(crate) struct CreateBooking;

impl LocalTool for CreateBooking {
    const DESCRIPTION: &'static str = "Books a product at a time, or places at an event, if there \
        are places left. Ask for everything that is needed first; the booking counts at once. If \
        there is no place, you are told how many are left.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let clock = desk.clock().await?;
        let calendar = calendar_of(&desk.view, arguments.item_id).await?;
        let (starts_at, ends_at) = time(&arguments, &calendar.time, &clock)?;
        let contact = arguments.contact_id.or(desk.context.contact);
        if let Some(contact) = contact.filter(|_| arguments.contact_id.is_some())
            && desk.view.contact(contact).await?.is_none()
        {
            return Err(EffectError::NoContact(contact).into());
        }
        let booking = Booking {
            item: arguments.item_id,
            calendar: Some(calendar.of),
            name: calendar.name,
            contact,
            starts_at,
            ends_at,
            quantity: arguments.quantity.unwrap_or(1).max(1),
            status: BookingStatus::Confirmed,
            notes: arguments.notes.filter(|notes| !notes.trim().is_empty()),
            cancelled: None,
        };
        let id = RecordId::from_u128(ids::fresh(desk.context, 0));
        let told = json!({ "booked": shown(id, &booking, &clock) });
        desk.done(StoreEffect::CreateBooking { id, booking }, &told).await
    }
}

/// When the booking is.
fn time(
    arguments: &Arguments,
    time: &Time,
    clock: &Clock,
) -> Result<(Timestamp, Timestamp), Problem> {
    let correct = |why: String| Err(Problem::Correct(why));
    let (starts_at, ends_at) = match (time, &arguments.starts_at) {
        (Time::Fixed(starts_at, ends_at), None) => (*starts_at, *ends_at),
        (Time::Fixed(starts_at, ends_at), Some(text)) => {
            if clock.read(text)? != *starts_at {
                let when = clock.shown(*starts_at);
                return correct(format!("This event is at {when}; leave starts_at out."));
            }
            (*starts_at, *ends_at)
        }
        (Time::Any { .. }, None) => {
            return correct("Say when it is to begin, in starts_at.".to_owned());
        }
        (Time::Any { minutes }, Some(text)) => {
            let starts_at = clock.read(text)?;
            let minutes = arguments.duration_minutes.unwrap_or(*minutes);
            if minutes > MAX_MINUTES {
                return correct(format!("A booking takes at most {MAX_MINUTES} minutes."));
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
        return correct(format!(
            "{} is over; it is {} now. Choose a time that is still to come.",
            clock.shown(starts_at),
            clock.shown(now)
        ));
    }
    if starts_at.duration_since(now).unsigned_abs() > MAX_AHEAD {
        return correct(format!(
            "{} is too far ahead; it is {} now.",
            clock.shown(starts_at),
            clock.shown(now)
        ));
    }
    Ok((starts_at, ends_at))
}
