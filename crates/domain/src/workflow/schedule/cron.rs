//! Cron expressions with five fields, read without a library: the domain depends on no
//! clock and no time zone database, and the libraries bring both.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::UtcDay;

/// A cron expression: minute, hour, day of the month, month and day of the week, such as
/// `30 8 * * MON-FRI`, or one of `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct CronExpression {
    text: String,
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
}

/// The values that a field allows, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    bits: u64,
    /// Whether it begins with `*`.
    any: bool,
}

/// The text is not a cron expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCron {
    #[error(
        "`{0}` is not a cron expression; write minute, hour, day of the month, month and day \
         of the week, such as `30 8 * * MON-FRI`"
    )]
    Fields(String),
    #[error(
        "`{text}` is not a {field}; use {least} to {most}, lists `1,2`, ranges `1-5`, steps `*/2`"
    )]
    Value { text: String, field: &'static str, least: u32, most: u32 },
    #[error("there is no day for `{0}`; no month in it has such a day")]
    Never(String),
}

/// What a field is called, its bounds, and names for its values from the least.
struct Bounds {
    name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MINUTE: Bounds = Bounds { name: "minute", least: 0, most: 59, names: &[] };
const HOUR: Bounds = Bounds { name: "hour", least: 0, most: 23, names: &[] };
const DAY: Bounds = Bounds { name: "day of the month", least: 1, most: 31, names: &[] };
const MONTH: Bounds = Bounds {
    name: "month",
    least: 1,
    most: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
/// Sunday is 0 and 7.
const WEEKDAY: Bounds = Bounds {
    name: "day of the week",
    least: 0,
    most: 7,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

/// The longest month, from January.
const MONTH_DAYS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const SHORTCUTS: [(&str, &str); 6] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
];

impl CronExpression {
    /// Returns the expression as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the hour begins with `*`: such an expression counts hours as they
    /// pass, also where clocks change.
    pub(super) const fn follows_hours(&self) -> bool {
        self.hours.any
    }

    /// Returns whether a day matches. If both days are restricted, one of them is enough, as
    /// in every cron.
    pub(super) fn matches_day(&self, day: UtcDay) -> bool {
        let (_, month, of_month) = day.civil();
        // 1970-01-01 was a Thursday.
        let weekday = u32::try_from((day.number() + 4).rem_euclid(7)).unwrap_or_default();
        let (by_date, by_weekday) = (self.days.has(of_month), self.weekdays.has(weekday));
        let matches = match self.days.any || self.weekdays.any {
            true => by_date && by_weekday,
            false => by_date || by_weekday,
        };
        matches && self.months.has(month)
    }

    /// Returns the minutes of a day that match, counted from midnight.
    pub(super) fn minutes_of_day(&self) -> impl Iterator<Item = i64> {
        let (hours, minutes) = (self.hours, self.minutes);
        (0..24).filter(move |hour| hours.has(*hour)).flat_map(move |hour| {
            let of_hour = (0..60).filter(move |minute| minutes.has(*minute));
            of_hour.map(move |minute| i64::from(hour * 60 + minute))
        })
    }

    /// Returns whether a day of the month in it exists. Days of the week always do.
    fn has_days(&self) -> bool {
        let months = (1..=12).filter(|month| self.months.has(*month));
        let longest = months.map(|month| MONTH_DAYS[month as usize - 1]).max().unwrap_or(0);
        let exists = (1..=longest).any(|day| self.days.has(day));
        exists || !(self.days.any || self.weekdays.any)
    }
}

impl Field {
    const fn has(self, value: u32) -> bool {
        self.bits >> value & 1 == 1
    }

    fn parse(text: &str, bounds: &Bounds) -> Result<Self, InvalidCron> {
        let mut bits = 0;
        for part in text.split(',') {
            let values = parse_part(part, bounds).ok_or_else(|| InvalidCron::Value {
                text: text.chars().take(40).collect(),
                field: bounds.name,
                least: bounds.least,
                most: bounds.most,
            })?;
            bits = values.fold(bits, |bits, value| bits | 1 << value);
        }
        if bounds.most == 7 && bits >> 7 & 1 == 1 {
            bits = bits & !(1 << 7) | 1;
        }
        Ok(Self { bits, any: text.starts_with('*') })
    }
}

/// Reads `*`, `5`, `1-5`, and each of them with a step such as `/2`.
fn parse_part(part: &str, bounds: &Bounds) -> Option<impl Iterator<Item = u32> + use<>> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0)?)),
        None => (part, None),
    };
    let (first, last) = match range.split_once('-') {
        _ if range == "*" => (bounds.least, bounds.most),
        Some((first, last)) => (value(first, bounds)?, value(last, bounds)?),
        None => {
            let first = value(range, bounds)?;
            // `5/10` begins at 5 and goes on to the end.
            (first, if step.is_some() { bounds.most } else { first })
        }
    };
    (first <= last).then(|| (first..=last).step_by(step.unwrap_or(1) as usize))
}

fn value(text: &str, bounds: &Bounds) -> Option<u32> {
    let named = || bounds.names.iter().position(|name| text.eq_ignore_ascii_case(name));
    let value = number(text).or_else(|| {
        let position = u32::try_from(named()?).ok()?;
        Some(bounds.least + position)
    })?;
    (bounds.least..=bounds.most).contains(&value).then_some(value)
}

fn number(text: &str) -> Option<u32> {
    let plain = (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

impl FromStr for CronExpression {
    type Err = InvalidCron;

    fn from_str(text: &str) -> Result<Self, InvalidCron> {
        let text = text.trim();
        let invalid = || InvalidCron::Fields(text.chars().take(100).collect());
        let shortcut = SHORTCUTS.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
        let fields: Vec<&str> =
            shortcut.map_or(text, |(_, fields)| fields).split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { return Err(invalid()) };
        if text.len() > 200 {
            return Err(invalid());
        }
        let cron = Self {
            text: text.to_owned(),
            minutes: Field::parse(minutes, &MINUTE)?,
            hours: Field::parse(hours, &HOUR)?,
            days: Field::parse(days, &DAY)?,
            months: Field::parse(months, &MONTH)?,
            weekdays: Field::parse(weekdays, &WEEKDAY)?,
        };
        if cron.has_days() { Ok(cron) } else { Err(InvalidCron::Never(cron.text)) }
    }
}

impl TryFrom<String> for CronExpression {
    type Error = InvalidCron;

    fn try_from(text: String) -> Result<Self, InvalidCron> {
        text.parse()
    }
}

impl From<CronExpression> for String {
    fn from(cron: CronExpression) -> Self {
        cron.text
    }
}

impl fmt::Display for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
