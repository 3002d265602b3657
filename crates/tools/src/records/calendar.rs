//! What is taken of something bookable on one UTC day. It is one record, so that
//! of two who book the same day at the same moment one has to look again, and so
//! that nobody reads all bookings to find a free place.

use jiff::Timestamp;
use ostler_domain::id::RecordId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Entity;
use crate::ids::leading_bits;

const DAY_SECS: i64 = 86_400;

/// The day of what has places for the whole of it, whenever it is. An event may be
/// put off, and its end may not be known; its places are taken all the same.
pub(crate) const WHOLE: i64 = i64::MIN;

/// What is taken on a day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct CalendarDay {
    pub(crate) slots: Vec<Slot>,
}

impl Entity for CalendarDay {
    const KIND: &'static str = "calendar_day";
}

/// What one booking takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slot {
    pub(crate) booking: RecordId,
    pub(crate) starts_at: Timestamp,
    pub(crate) ends_at: Timestamp,
    pub(crate) quantity: u32,
}

/// The UTC days that a time from `starts_at` to before `ends_at` touches.
pub(crate) fn days(starts_at: Timestamp, ends_at: Timestamp) -> std::ops::RangeInclusive<i64> {
    let last = (ends_at.as_second() - 1).max(starts_at.as_second());
    starts_at.as_second().div_euclid(DAY_SECS)..=last.div_euclid(DAY_SECS)
}

/// The record of a day of something bookable.
pub(crate) fn day_id(calendar: RecordId, day: i64) -> RecordId {
    let mut hash = Sha256::new();
    hash.update(calendar.as_u128().to_be_bytes());
    hash.update(day.to_be_bytes());
    RecordId::from_u128(leading_bits(&hash.finalize()))
}

/// The most places that are taken at any moment of a time.
pub(crate) fn busiest(slots: &[Slot], starts_at: Timestamp, ends_at: Timestamp) -> u64 {
    let overlapping =
        || slots.iter().filter(|slot| slot.starts_at < ends_at && slot.ends_at > starts_at);
    // The number only grows where a slot begins.
    let moments = overlapping().map(|slot| slot.starts_at.max(starts_at));
    let taken_at = |moment: Timestamp| -> u64 {
        let then = overlapping().filter(|slot| slot.starts_at <= moment && slot.ends_at > moment);
        then.map(|slot| u64::from(slot.quantity)).sum()
    };
    moments.map(taken_at).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Slot, busiest, days};
    use jiff::Timestamp;
    use ostler_domain::id::RecordId;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(minutes * 60).unwrap()
    }

    #[test]
    fn a_time_ends_before_its_end() {
        for (from, to, expected) in [
            (0, 60, 0..=0),
            (0, 1440, 0..=0),
            (0, 1441, 0..=1),
            (1439, 1440, 0..=0),
            (1440, 1500, 1..=1),
            (-10, 10, -1..=0),
        ] {
            assert_eq!(days(at(from), at(to)), expected, "{from} to {to}");
        }
    }

    #[test]
    fn the_busiest_moment_counts() {
        let slot = |(from, to, quantity): &(i64, i64, u32)| Slot {
            booking: RecordId::from_u128(1),
            starts_at: at(*from),
            ends_at: at(*to),
            quantity: *quantity,
        };
        let check = |taken: &[(i64, i64, u32)], (from, to): (i64, i64), expected| {
            let slots: Vec<Slot> = taken.iter().map(slot).collect();
            assert_eq!(busiest(&slots, at(from), at(to)), expected, "{taken:?} {from} to {to}");
        };
        check(&[], (0, 60), 0);
        check(&[(0, 60, 2)], (60, 120), 0);
        check(&[(0, 60, 2)], (30, 120), 2);
        check(&[(0, 60, 2), (60, 120, 3)], (0, 120), 3);
        check(&[(0, 70, 2), (60, 120, 3)], (0, 120), 5);
        check(&[(0, 200, 1), (10, 20, 1), (30, 40, 4)], (0, 25), 2);
    }
}
