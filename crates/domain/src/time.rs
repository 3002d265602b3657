//! Timestamps and UTC days, as plain numbers.
//!
//! Nothing here reads a clock: every rule that depends on time takes `now`.

use std::ops::Add;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// A point in time: milliseconds since 1970-01-01 UTC.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates the timestamp this many milliseconds after 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since 1970.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the time since `earlier`, or zero if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Returns the time in UTC as RFC 3339 writes it, such as `2026-11-18T09:30:00.250Z`.
    pub fn to_rfc3339(self) -> String {
        let millis = self.0.rem_euclid(MILLIS_PER_DAY);
        let (seconds, millis) = (millis / 1000, millis % 1000);
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let day = self.utc_day().to_iso();
        format!("{day}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
    }

    /// Returns the UTC day of this timestamp.
    pub fn utc_day(self) -> UtcDay {
        UtcDay(self.0.div_euclid(MILLIS_PER_DAY))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// A day in UTC: the window of rate limits, daily credits and reference codes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct UtcDay(i64);

impl UtcDay {
    /// Returns the first timestamp of the day.
    pub const fn start(self) -> Timestamp {
        Timestamp(self.0 * MILLIS_PER_DAY)
    }

    /// Creates the day this many days after 1970-01-01.
    pub const fn from_number(days: i64) -> Self {
        Self(days)
    }

    /// Returns the days since 1970.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// Returns the following day.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the day of a date in the Gregorian calendar, or `None` if there is no such
    /// date.
    pub fn from_civil(year: i64, month: u32, day: u32) -> Option<Self> {
        if !(0..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 {
            return None;
        }
        let shifted = if month <= 2 { year - 1 } else { year };
        let era = shifted.div_euclid(400);
        let year_of_era = shifted.rem_euclid(400);
        let month_from_march = i64::from((month + 9) % 12);
        let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let found = Self(era * 146_097 + day_of_era - 719_468);
        // The thirty-first of a shorter month is a day of the next one.
        (found.civil() == (year, month, day)).then_some(found)
    }

    /// Parses a date such as `2026-11-18`.
    pub fn parse_iso(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut number = |length: usize| {
            let part = parts.next().filter(|part| part.len() == length)?;
            part.bytes().all(|digit| digit.is_ascii_digit()).then(|| part.parse::<u32>().ok())?
        };
        let (year, month, day) = (number(4)?, number(2)?, number(2)?);
        if parts.next().is_some() { None } else { Self::from_civil(i64::from(year), month, day) }
    }

    /// Returns the date as text, such as `2026-11-18`.
    pub fn to_iso(self) -> String {
        let (year, month, day) = self.civil();
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// Returns year, month and day of the Gregorian calendar.
    ///
    /// Counts in eras of 400 years that begin on 1 March, so that a leap day is the last
    /// day of its year and needs no special case.
    pub const fn civil(self) -> (i64, u32, u32) {
        let days = self.0 + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
        (year, month as u32, day as u32)
    }
}

/// A window of the UTC calendar in which something is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    Minute,
    Hour,
    Day,
}

impl Window {
    /// Returns the length of the window.
    pub const fn duration(self) -> Duration {
        Duration::from_secs(match self {
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => 86_400,
        })
    }
}

/// Durations as whole seconds, for settings that people read and write.
pub(crate) mod secs {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.as_secs())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, UtcDay};
    use std::time::Duration;

    #[test]
    fn days_have_the_dates_of_the_calendar() {
        let check = |seconds: i64, expected| {
            assert_eq!(Timestamp::from_millis(seconds * 1000).utc_day().civil(), expected);
        };
        check(0, (1970, 1, 1));
        check(-1, (1969, 12, 31));
        check(951_782_400, (2000, 2, 29));
        check(951_868_800, (2000, 3, 1));
        check(1_794_700_799, (2026, 11, 14));
        check(1_794_700_800, (2026, 11, 15));
        check(4_107_542_400, (2100, 3, 1));
    }

    #[test]
    fn a_date_is_written_and_parsed_back() {
        for day in (-10_000..60_000).step_by(97) {
            let day = UtcDay(day);
            assert_eq!(UtcDay::parse_iso(&day.to_iso()), Some(day));
        }
        let today = UtcDay::parse_iso("2026-11-18").unwrap();
        assert_eq!((today.civil(), today.to_iso().as_str()), ((2026, 11, 18), "2026-11-18"));
        for wrong in ["", "2026-02-30", "2026-13-01", "2026-1-1", "2026-11-18-1", "20x6-11-18"] {
            assert_eq!(UtcDay::parse_iso(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_day_starts_at_midnight_and_ends_before_the_next() {
        let day = Timestamp::from_millis(1_794_750_000_123).utc_day();
        assert_eq!(day.start().utc_day(), day);
        assert_eq!((day.start() + Duration::from_secs(86_399)).utc_day(), day);
        assert_eq!((day.start() + Duration::from_secs(86_400)).utc_day(), day.next());
        assert_eq!(UtcDay::default().start(), Timestamp::from_millis(0));
    }

    #[test]
    fn the_time_since_a_later_timestamp_is_zero() {
        let (early, late) = (Timestamp::from_millis(1000), Timestamp::from_millis(4000));
        assert_eq!(late.since(early), Duration::from_secs(3));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
