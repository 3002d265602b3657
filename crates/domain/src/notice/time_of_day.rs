//! Times of day, and when they are reached in a time zone.
//!
//! A time zone is a function from a point in time to its UTC offset in seconds, so that no
//! rule depends on a database of time zones.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

const MINUTES_PER_DAY: i64 = 24 * 60;
const MILLIS_PER_MINUTE: i64 = 60_000;
const MILLIS_PER_DAY: i64 = MINUTES_PER_DAY * MILLIS_PER_MINUTE;

/// The UTC offset of a time zone, in seconds, at a point in time.
pub type UtcOffset<'a> = &'a dyn Fn(Timestamp) -> i32;

/// A time of day in hours and minutes, such as `22:00`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TimeOfDay {
    minutes: u16,
}

/// The text is no time of day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time of day; write hours and minutes, such as 22:00")]
pub struct BadTimeOfDay(String);

impl TimeOfDay {
    /// Returns the time of day at this hour.
    pub const fn at_hour(hour: u8) -> Self {
        Self { minutes: hour as u16 % 24 * 60 }
    }

    /// Returns the time of day in a time zone at a point in time.
    pub fn of(at: Timestamp, zone: UtcOffset<'_>) -> Self {
        let minutes = local_millis(at, zone).div_euclid(MILLIS_PER_MINUTE);
        Self { minutes: u16::try_from(minutes.rem_euclid(MINUTES_PER_DAY)).unwrap_or(0) }
    }

    /// Returns the first point in time at or after `now` at which clocks in the zone show
    /// this time. A time that a change of the clocks skips comes with the change.
    pub fn next(self, now: Timestamp, zone: UtcOffset<'_>) -> Timestamp {
        let today = local_millis(now, zone).div_euclid(MILLIS_PER_DAY);
        let time = i64::from(self.minutes) * MILLIS_PER_MINUTE;
        (-1..=2)
            .flat_map(|day| timestamps((today + day) * MILLIS_PER_DAY + time, zone))
            .filter(|at| *at >= now)
            .min()
            .unwrap_or(now)
    }
}

/// Returns the local time as milliseconds since 1970 began there.
pub(crate) fn local_millis(at: Timestamp, zone: UtcOffset<'_>) -> i64 {
    at.as_millis() + i64::from(zone(at)) * 1000
}

/// Returns the points in time of a local time, of which there are two where clocks are set
/// back, and the change where they are set forward. Clocks change at most once within a day
/// before and after it.
pub(crate) fn timestamps(local: i64, zone: UtcOffset<'_>) -> Vec<Timestamp> {
    let with = |offset: i32| Timestamp::from_millis(local - i64::from(offset) * 1000);
    let before = zone(Timestamp::from_millis(local - MILLIS_PER_DAY));
    let after = zone(Timestamp::from_millis(local + MILLIS_PER_DAY));
    let fits = |offset: &i32| zone(with(*offset)) == *offset;
    let found: Vec<Timestamp> = [before, after].into_iter().filter(fits).map(with).collect();
    if found.is_empty() {
        vec![clock_change(with(after), with(before), before, zone)]
    } else {
        found
    }
}

/// Returns the first point in time in a range at which the offset is not `before`.
fn clock_change(from: Timestamp, to: Timestamp, before: i32, zone: UtcOffset<'_>) -> Timestamp {
    let (mut early, mut late) = (from.as_millis(), to.as_millis());
    while late - early > 1 {
        let middle = early + (late - early) / 2;
        match zone(Timestamp::from_millis(middle)) == before {
            true => early = middle,
            false => late = middle,
        }
    }
    Timestamp::from_millis(late)
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

impl FromStr for TimeOfDay {
    type Err = BadTimeOfDay;

    fn from_str(text: &str) -> Result<Self, BadTimeOfDay> {
        let bad = || BadTimeOfDay(text.to_owned());
        let (hours, minutes) = text.trim().split_once(':').ok_or_else(bad)?;
        let number = |part: &str, digits: std::ops::RangeInclusive<usize>, below: u16| {
            let plain = digits.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
            part.parse().ok().filter(|value: &u16| plain && *value < below)
        };
        let hours = number(hours, 1..=2, 24).ok_or_else(bad)?;
        let minutes = number(minutes, 2..=2, 60).ok_or_else(bad)?;
        Ok(Self { minutes: hours * 60 + minutes })
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = BadTimeOfDay;

    fn try_from(text: String) -> Result<Self, BadTimeOfDay> {
        text.parse()
    }
}

impl From<TimeOfDay> for String {
    fn from(time: TimeOfDay) -> Self {
        time.to_string()
    }
}
