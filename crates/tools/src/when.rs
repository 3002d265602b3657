//! Times as people and models write them, where an org is.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::local::Problem;

/// The time, where an org is.
pub(crate) struct Clock {
    now: Timestamp,
    zone: TimeZone,
}

impl Clock {
    /// The clock of a zone by its IANA name; UTC if there is no such zone.
    pub(crate) fn new(now: ostler_domain::time::Timestamp, zone: &str) -> Self {
        let now = Timestamp::from_millisecond(now.as_millis()).unwrap_or_default();
        Self { now, zone: TimeZone::get(zone).unwrap_or(TimeZone::UTC) }
    }

    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// Reads a time. Without an offset it is the org's own time; one that its
    /// clocks show twice, or skip, has to be said more exactly.
    pub(crate) fn read(&self, text: &str) -> Result<Timestamp, Problem> {
        let text = text.trim();
        if let Ok(exact) = text.parse::<Timestamp>() {
            return Ok(exact);
        }
        if let Ok(zoned) = text.parse::<Zoned>() {
            return Ok(zoned.timestamp());
        }
        let local = text.parse::<DateTime>().ok().filter(|_| text.contains([':', 'T', 't']));
        let Some(local) = local else {
            return Err(Problem::Correct(format!(
                "`{text}` is not a time. Write it as 2026-11-20T19:30, which is the time in {}, \
                 or with an offset as 2026-11-20T19:30:00+01:00. It is {} now.",
                self.zone_name(),
                self.shown(self.now)
            )));
        };
        let exact = self.zone.to_ambiguous_zoned(local).unambiguous();
        exact.map(|zoned| zoned.timestamp()).map_err(|_| {
            Problem::Correct(format!(
                "Clocks change in {} then, and {local} comes twice or not at all. Write it with an \
                 offset, as 2026-11-20T19:30:00+01:00.",
                self.zone_name()
            ))
        })
    }

    /// A time for the model: `2026-11-20T19:30:00+01:00[Europe/Rome]`.
    pub(crate) fn shown(&self, time: Timestamp) -> String {
        time.to_zoned(self.zone.clone()).to_string()
    }

    fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;
    use ostler_domain::time::Timestamp;

    #[test]
    fn a_time_is_read_where_the_org_is() {
        let clock = |zone| Clock::new(Timestamp::from_millis(1_794_750_000_000), zone);
        let read = |zone, text: &str| clock(zone).read(text).ok().map(|time| time.to_string());
        let table = [
            ("Europe/Rome", "2026-11-20T19:30", Some("2026-11-20T18:30:00Z")),
            ("Europe/Rome", "2026-07-20 19:30", Some("2026-07-20T17:30:00Z")),
            ("Europe/Rome", "2026-11-20T19:30:00Z", Some("2026-11-20T19:30:00Z")),
            ("Europe/Rome", "2026-11-20T19:30:00-05:00", Some("2026-11-21T00:30:00Z")),
            ("Europe/Rome", "2026-11-20T19:30:00[America/New_York]", Some("2026-11-21T00:30:00Z")),
            ("Nowhere/Land", "2026-11-20T19:30", Some("2026-11-20T19:30:00Z")),
            // The clocks skip this hour, and show that one twice.
            ("Europe/Rome", "2026-03-29T02:30", None),
            ("Europe/Rome", "2026-10-25T02:30", None),
            ("Europe/Rome", "2026-10-25T02:30:00+02:00", Some("2026-10-25T00:30:00Z")),
            ("Europe/Rome", "2026-11-20", None),
            ("Europe/Rome", "tomorrow at eight", None),
            ("Europe/Rome", "2026-13-20T19:30", None),
            ("Europe/Rome", "", None),
        ];
        for (zone, text, expected) in table {
            assert_eq!(read(zone, text).as_deref(), expected, "{zone} {text}");
        }
        let shown = clock("Europe/Rome").shown("2026-11-20T18:30:00Z".parse().unwrap());
        assert_eq!(shown, "2026-11-20T19:30:00+01:00[Europe/Rome]");
    }
}
