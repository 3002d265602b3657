//! The booked places of one UTC day. Each day is one record, so that two concurrent
//! bookings of the same day conflict, and free places are found without reading all
//! bookings.

use jiff::Timestamp;
use ostler_domain::id::RecordId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Entity;
use crate::ids::first_128_bits;

const DAY_SECS: i64 = 86_400;

/// The day number for items with one set of places for all time. An event may be moved,
/// and its end may be unknown; its places stay taken.
pub(crate) const ALL_DAYS: i64 = i64::MIN;

/// The booked places of a day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct CalendarDay {
    pub(crate) slots: Vec<Slot>,
}

impl Entity for CalendarDay {
    const KIND: &'static str = "calendar_day";
}

/// The places of one booking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slot {
    pub(crate) booking: RecordId,
    pub(crate) starts_at: Timestamp,
    pub(crate) ends_at: Timestamp,
    pub(crate) quantity: u32,
}

/// Returns the UTC days from `starts_at` to before `ends_at`.
pub(crate) fn days_between(
    starts_at: Timestamp,
    ends_at: Timestamp,
) -> std::ops::RangeInclusive<i64> {
    let last = (ends_at.as_second() - 1).max(starts_at.as_second());
    starts_at.as_second().div_euclid(DAY_SECS)..=last.div_euclid(DAY_SECS)
}

/// Returns the id of the record for a day of a calendar.
pub(crate) fn day_id(calendar: RecordId, day: i64) -> RecordId {
    let mut hash = Sha256::new();
    hash.update(calendar.as_u128().to_be_bytes());
    hash.update(day.to_be_bytes());
    RecordId::from_u128(first_128_bits(&hash.finalize()))
}

/// Returns the most places that are taken at any moment between two times.
pub(crate) fn peak_usage(slots: &[Slot], starts_at: Timestamp, ends_at: Timestamp) -> u64 {
    let overlapping =
        || slots.iter().filter(|slot| slot.starts_at < ends_at && slot.ends_at > starts_at);
    // Usage only grows where a slot begins.
    let moments = overlapping().map(|slot| slot.starts_at.max(starts_at));
    let taken_at = |moment: Timestamp| -> u64 {
        let then = overlapping().filter(|slot| slot.starts_at <= moment && slot.ends_at > moment);
        then.map(|slot| u64::from(slot.quantity)).sum()
    };
    moments.map(taken_at).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Slot, days_between, peak_usage};
    use jiff::Timestamp;
    use ostler_domain::id::RecordId;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(minutes * 60).unwrap()
    }

    #[test]
    fn a_booking_does_not_include_its_end() {
        for (from, to, expected) in [
            (0, 60, 0..=0),
            (0, 1440, 0..=0),
            (0, 1441, 0..=1),
            (1439, 1440, 0..=0),
            (1440, 1500, 1..=1),
            (-10, 10, -1..=0),
        ] {
            assert_eq!(days_between(at(from), at(to)), expected, "{from} to {to}");
        }
    }

    #[test]
    fn peak_usage_is_the_highest_overlap() {
        let slot = |(from, to, quantity): &(i64, i64, u32)| Slot {
            booking: RecordId::from_u128(1),
            starts_at: at(*from),
            ends_at: at(*to),
            quantity: *quantity,
        };
        let check = |taken: &[(i64, i64, u32)], (from, to): (i64, i64), expected| {
            let slots: Vec<Slot> = taken.iter().map(slot).collect();
            assert_eq!(peak_usage(&slots, at(from), at(to)), expected, "{taken:?} {from} to {to}");
        };
        check(&[], (0, 60), 0);
        check(&[(0, 60, 2)], (60, 120), 0);
        check(&[(0, 60, 2)], (30, 120), 2);
        check(&[(0, 60, 2), (60, 120, 3)], (0, 120), 3);
        check(&[(0, 70, 2), (60, 120, 3)], (0, 120), 5);
        check(&[(0, 200, 1), (10, 20, 1), (30, 40, 4)], (0, 25), 2);
    }
}
