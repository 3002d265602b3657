//! Effects on bookings: take places if enough are free, and release them.

use jiff::Timestamp;
use ostler_domain::id::RecordId;

use super::EffectError;
use crate::overlay::StoreOverlay;
use crate::records::{
    ALL_DAYS, BookableResource, Booking, BookingStatus, CalendarDay, CalendarEvent, Cancellation,
    Product, Slot, day_id, days_between, peak_usage,
};

/// The places of a product or an event.
pub(crate) struct Calendar {
    /// The record that has the places: a shared resource, or the item itself.
    pub(crate) owner: RecordId,
    /// How many places there are at the same time.
    pub(crate) capacity: u32,
    /// The name of the product or event.
    pub(crate) name: String,
    pub(crate) time: BookingTime,
}

/// When an item can be booked.
pub(crate) enum BookingTime {
    /// At any time, usually for this long.
    Flexible { minutes: u32 },
    /// From the first to the second time only.
    Fixed(Timestamp, Timestamp),
}

/// Returns the calendar of a product or an event. Fails if there is no such item or it
/// cannot be booked.
pub(crate) async fn find_calendar(
    overlay: &StoreOverlay<'_>,
    item: RecordId,
) -> Result<Calendar, EffectError> {
    if let Some((_, product)) = overlay.record::<Product>(item).await? {
        return product_calendar(overlay, item, product).await;
    }
    let event = overlay.record::<CalendarEvent>(item).await?;
    let (_, event) = event.ok_or(EffectError::ItemNotFound(item))?;
    let Some(capacity) = event.capacity else { return Err(EffectError::NotBookable(event.name)) };
    let time = BookingTime::Fixed(event.starts_at, event.ends_at);
    Ok(Calendar { owner: item, capacity, name: event.name, time })
}

async fn product_calendar(
    overlay: &StoreOverlay<'_>,
    item: RecordId,
    product: Product,
) -> Result<Calendar, EffectError> {
    let name = product.name;
    let Some(terms) = product.bookable.filter(|_| product.active) else {
        return Err(EffectError::NotBookable(name));
    };
    let time = BookingTime::Flexible { minutes: terms.duration_minutes.max(1) };
    let Some(owner) = terms.resource else {
        return Ok(Calendar { owner: item, capacity: terms.capacity, name, time });
    };
    match overlay.record::<BookableResource>(owner).await? {
        Some((_, resource)) => Ok(Calendar { owner, capacity: resource.capacity, name, time }),
        None => Err(EffectError::NotBookable(name)),
    }
}

pub(super) async fn create(
    overlay: &mut StoreOverlay<'_>,
    id: RecordId,
    booking: &Booking,
) -> Result<(), EffectError> {
    if overlay.record::<Booking>(id).await?.is_some() {
        return Ok(());
    }
    let calendar = find_calendar(overlay, booking.item).await?;
    let (from, to) = (booking.starts_at, booking.ends_at);
    let days = match calendar.time {
        BookingTime::Flexible { .. } => days_between(from, to),
        BookingTime::Fixed(..) => ALL_DAYS..=ALL_DAYS,
    };
    let mut changed_days = Vec::new();
    for day in days {
        let day = day_id(calendar.owner, day);
        let (version, taken) = read_day(overlay, day).await?;
        changed_days.push((day, version, taken));
    }
    let mut slots: Vec<Slot> =
        changed_days.iter().flat_map(|(_, _, day)| day.slots.clone()).collect();
    slots.sort_unstable_by_key(|slot| slot.booking);
    slots.dedup_by_key(|slot| slot.booking);
    let taken = match calendar.time {
        BookingTime::Flexible { .. } => peak_usage(&slots, from, to),
        BookingTime::Fixed(..) => slots.iter().map(|slot| u64::from(slot.quantity)).sum(),
    };
    let taken = u32::try_from(taken).unwrap_or(u32::MAX);
    let free = calendar.capacity.saturating_sub(taken);
    if booking.quantity > free {
        let Calendar { name, capacity, .. } = calendar;
        return Err(EffectError::NotEnoughPlaces { name, free, capacity });
    }
    let slot = Slot { booking: id, starts_at: from, ends_at: to, quantity: booking.quantity };
    for (day, version, mut taken) in changed_days {
        taken.slots.push(slot);
        overlay.put(day, version, &taken)?;
    }
    overlay.put(id, None, &Booking { calendar: Some(calendar.owner), ..booking.clone() })
}

pub(super) async fn cancel(
    overlay: &mut StoreOverlay<'_>,
    id: RecordId,
    at: Timestamp,
    reason: &str,
) -> Result<(), EffectError> {
    let read = overlay.record::<Booking>(id).await?;
    let (version, mut booking) = read.ok_or(EffectError::BookingNotFound(id))?;
    if booking.status == BookingStatus::Cancelled {
        return Ok(());
    }
    let calendar = booking.calendar.unwrap_or(booking.item);
    for day in days_between(booking.starts_at, booking.ends_at).chain([ALL_DAYS]) {
        let day = day_id(calendar, day);
        let (version, mut taken) = read_day(overlay, day).await?;
        let before = taken.slots.len();
        taken.slots.retain(|slot| slot.booking != id);
        if taken.slots.len() < before {
            overlay.put(day, version, &taken)?;
        }
    }
    booking.status = BookingStatus::Cancelled;
    booking.cancelled = Some(Cancellation { at, reason: reason.to_owned() });
    overlay.put(id, Some(version), &booking)
}

async fn read_day(
    overlay: &StoreOverlay<'_>,
    day: RecordId,
) -> Result<(Option<i64>, CalendarDay), EffectError> {
    let read = overlay.record::<CalendarDay>(day).await?;
    Ok(read.map_or_else(Default::default, |(version, taken)| (Some(version), taken)))
}
