//! Times as people and models write them, in the time zone of an org.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::store_tool::ToolError;

/// The current time and the time zone of an org.
pub(crate) struct OrgClock {
    now: Timestamp,
    zone: TimeZone,
}

impl OrgClock {
    /// Creates the clock of a zone by its IANA name; an unknown name means UTC.
    pub(crate) fn new(now: ostler_domain::time::Timestamp, zone: &str) -> Self {
        let now = Timestamp::from_millisecond(now.as_millis()).unwrap_or_default();
        Self { now, zone: TimeZone::get(zone).unwrap_or(TimeZone::UTC) }
    }

    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// Parses a time. Without an offset it is the org's local time. A local time that
    /// occurs twice or is skipped when clocks change is refused.
    pub(crate) fn parse(&self, text: &str) -> Result<Timestamp, ToolError> {
        let text = text.trim();
        if let Ok(exact) = text.parse::<Timestamp>() {
            return Ok(exact);
        }
        if let Ok(zoned) = text.parse::<Zoned>() {
            return Ok(zoned.timestamp());
        }
        let local = text.parse::<DateTime>().ok().filter(|_| text.contains([':', 'T', 't']));
        let Some(local) = local else {
            return Err(ToolError::Invalid(format!(
                "`{text}` is not a time. Write it as 2026-11-20T19:30, which is the time in {}, \
                 or with an offset as 2026-11-20T19:30:00+01:00. It is {} now.",
                self.zone_name(),
                self.format(self.now)
            )));
        };
        let exact = self.zone.to_ambiguous_zoned(local).unambiguous();
        exact.map(|zoned| zoned.timestamp()).map_err(|_| {
            ToolError::Invalid(format!(
                "Clocks change in {} at that time, so {local} occurs twice or not at all. Write it \
                 with an offset, as 2026-11-20T19:30:00+01:00.",
                self.zone_name()
            ))
        })
    }

    /// Formats a time for the model: `2026-11-20T19:30:00+01:00[Europe/Rome]`.
    pub(crate) fn format(&self, time: Timestamp) -> String {
        time.to_zoned(self.zone.clone()).to_string()
    }

    fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }
}

#[cfg(test)]
mod tests {
    use super::OrgClock;
    use ostler_domain::time::Timestamp;

    #[test]
    fn times_without_an_offset_are_in_the_time_zone_of_the_org() {
        let clock = |zone| OrgClock::new(Timestamp::from_millis(1_794_750_000_000), zone);
        let parse = |zone, text: &str| clock(zone).parse(text).ok().map(|time| time.to_string());
        let table = [
            ("Europe/Rome", "2026-11-20T19:30", Some("2026-11-20T18:30:00Z")),
            ("Europe/Rome", "2026-07-20 19:30", Some("2026-07-20T17:30:00Z")),
            ("Europe/Rome", "2026-11-20T19:30:00Z", Some("2026-11-20T19:30:00Z")),
            ("Europe/Rome", "2026-11-20T19:30:00-05:00", Some("2026-11-21T00:30:00Z")),
            ("Europe/Rome", "2026-11-20T19:30:00[America/New_York]", Some("2026-11-21T00:30:00Z")),
            ("Nowhere/Land", "2026-11-20T19:30", Some("2026-11-20T19:30:00Z")),
            // Skipped when clocks go forward, and repeated when they go back.
            ("Europe/Rome", "2026-03-29T02:30", None),
            ("Europe/Rome", "2026-10-25T02:30", None),
            ("Europe/Rome", "2026-10-25T02:30:00+02:00", Some("2026-10-25T00:30:00Z")),
            ("Europe/Rome", "2026-11-20", None),
            ("Europe/Rome", "tomorrow at eight", None),
            ("Europe/Rome", "2026-13-20T19:30", None),
            ("Europe/Rome", "", None),
        ];
        for (zone, text, expected) in table {
            assert_eq!(parse(zone, text).as_deref(), expected, "{zone} {text}");
        }
        let formatted = clock("Europe/Rome").format("2026-11-20T18:30:00Z".parse().unwrap());
        assert_eq!(formatted, "2026-11-20T19:30:00+01:00[Europe/Rome]");
    }
}
