//! Bookings: a place is taken if there is one, and given back.

use jiff::Timestamp;
use ostler_domain::id::RecordId;

use super::EffectError;
use crate::records::{
    Booking, BookingStatus, CalendarDay, Cancellation, Event, Product, Resource, Slot, WHOLE,
    busiest, day_id, days,
};
use crate::view::View;

/// What holds the places of a product or an event.
pub(crate) struct Calendar {
    /// Whose places they are: those of the resource, or of the offer itself.
    pub(crate) of: RecordId,
    /// How many there are at the same time.
    pub(crate) capacity: u32,
    /// What the offer is called.
    pub(crate) name: String,
    /// When it is.
    pub(crate) time: Time,
}

/// When something that can be booked is.
pub(crate) enum Time {
    /// Whenever somebody wants it, for so long by itself.
    Any {
        /// How many minutes a booking takes.
        minutes: u32,
    },
    /// At a certain time only.
    Fixed(Timestamp, Timestamp),
}

/// What holds the places of a product or an event.
pub(crate) async fn calendar_of(view: &View<'_>, item: RecordId) -> Result<Calendar, EffectError> {
    if let Some((_, product)) = view.record::<Product>(item).await? {
        return of_product(view, item, product).await;
    }
    let event = view.record::<Event>(item).await?;
    let (_, event) = event.ok_or(EffectError::NoOffer(item))?;
    let Some(capacity) = event.capacity else { return Err(EffectError::NotBookable(event.name)) };
    let time = Time::Fixed(event.starts_at, event.ends_at);
    Ok(Calendar { of: item, capacity, name: event.name, time })
}

async fn of_product(
    view: &View<'_>,
    item: RecordId,
    product: Product,
) -> Result<Calendar, EffectError> {
    let name = product.name;
    let Some(bookable) = product.bookable.filter(|_| product.active) else {
        return Err(EffectError::NotBookable(name));
    };
    let time = Time::Any { minutes: bookable.duration_minutes.max(1) };
    let Some(of) = bookable.resource else {
        return Ok(Calendar { of: item, capacity: bookable.capacity, name, time });
    };
    match view.record::<Resource>(of).await? {
        Some((_, resource)) => Ok(Calendar { of, capacity: resource.capacity, name, time }),
        None => Err(EffectError::NotBookable(name)),
    }
}

pub(super) async fn create(
    view: &mut View<'_>,
    id: RecordId,
    booking: &Booking,
) -> Result<(), EffectError> {
    if view.record::<Booking>(id).await?.is_some() {
        return Ok(());
    }
    let calendar = calendar_of(view, booking.item).await?;
    let (from, to) = (booking.starts_at, booking.ends_at);
    let days = match calendar.time {
        Time::Any { .. } => days(from, to),
        Time::Fixed(..) => WHOLE..=WHOLE,
    };
    let mut touched = Vec::new();
    for day in days {
        let day = day_id(calendar.of, day);
        let (version, taken) = read_day(view, day).await?;
        touched.push((day, version, taken));
    }
    let mut slots: Vec<Slot> = touched.iter().flat_map(|(_, _, day)| day.slots.clone()).collect();
    slots.sort_unstable_by_key(|slot| slot.booking);
    slots.dedup_by_key(|slot| slot.booking);
    let taken = match calendar.time {
        Time::Any { .. } => busiest(&slots, from, to),
        Time::Fixed(..) => slots.iter().map(|slot| u64::from(slot.quantity)).sum(),
    };
    let taken = u32::try_from(taken).unwrap_or(u32::MAX);
    let free = calendar.capacity.saturating_sub(taken);
    if booking.quantity > free {
        let Calendar { name, capacity, .. } = calendar;
        return Err(EffectError::Full { name, free, capacity });
    }
    let slot = Slot { booking: id, starts_at: from, ends_at: to, quantity: booking.quantity };
    for (day, version, mut taken) in touched {
        taken.slots.push(slot);
        view.put(day, version, &taken)?;
    }
    view.put(id, None, &Booking { calendar: Some(calendar.of), ..booking.clone() })
}

pub(super) async fn cancel(
    view: &mut View<'_>,
    id: RecordId,
    at: Timestamp,
    reason: &str,
) -> Result<(), EffectError> {
    let read = view.record::<Booking>(id).await?;
    let (version, mut booking) = read.ok_or(EffectError::NoBooking(id))?;
    if booking.status == BookingStatus::Cancelled {
        return Ok(());
    }
    let calendar = booking.calendar.unwrap_or(booking.item);
    for day in days(booking.starts_at, booking.ends_at).chain([WHOLE]) {
        let day = day_id(calendar, day);
        let (version, mut taken) = read_day(view, day).await?;
        let before = taken.slots.len();
        taken.slots.retain(|slot| slot.booking != id);
        if taken.slots.len() < before {
            view.put(day, version, &taken)?;
        }
    }
    booking.status = BookingStatus::Cancelled;
    booking.cancelled = Some(Cancellation { at, reason: reason.to_owned() });
    view.put(id, Some(version), &booking)
}

async fn read_day(
    view: &View<'_>,
    day: RecordId,
) -> Result<(Option<i64>, CalendarDay), EffectError> {
    let read = view.record::<CalendarDay>(day).await?;
    Ok(read.map_or_else(Default::default, |(version, taken)| (Some(version), taken)))
}
