//! Output for programs: JSON with the names of the HTTP API and times as in RFC 3339.

use ostler_domain::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// The names of times, alone or after an underscore.
const TIME_NAMES: [&str; 7] = ["at", "deadline", "due", "end", "now", "since", "until"];
/// The names of days.
const DAY_NAMES: [&str; 2] = ["day", "limit_notice_day"];
/// The arguments of calls, which models have written. They are printed as they are.
const FOREIGN: &str = "arguments";
/// Smaller numbers are no times; this one is in 1973.
const EARLIEST_MILLIS: i64 = 100_000_000_000;

/// Prints a value as indented JSON. Stored times, which are milliseconds, become times in
/// the form of RFC 3339.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut value = serde_json::to_value(value)?;
    format_times(&mut value);
    anstream::println!("{}", serde_json::to_string_pretty(&value)?);
    Ok(())
}

/// Formats a time as in RFC 3339.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default().to_string()
}

/// Formats a day as a date; days are stored as their number since 1970.
pub(crate) fn format_day(days: u64) -> String {
    let seconds = i64::try_from(days).ok().and_then(|days| days.checked_mul(86_400));
    let start = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    start.map_or_else(|| days.to_string(), |start| start.strftime("%F").to_string())
}

fn format_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_i64().filter(|millis| is_time(name) && *millis >= EARLIEST_MILLIS) {
                    Some(millis) => *value = rfc3339(Timestamp::from_millis(millis)).into(),
                    None if name == FOREIGN => {}
                    None if DAY_NAMES.contains(&name.as_str()) && value.is_u64() => {
                        *value = format_day(value.as_u64().unwrap_or_default()).into();
                    }
                    None => format_times(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(format_times),
        _ => {}
    }
}

fn is_time(name: &str) -> bool {
    TIME_NAMES.contains(&name.rsplit('_').next().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::format_times;

    #[test]
    fn o22_times_become_rfc_3339() {
        let millis = 1_800_000_000_123_i64;
        let time = "2027-01-15T08:00:00.123Z";
        let table = [
            (json!({"at": millis}), json!({"at": time})),
            (
                json!([{"created_at": millis, "read_at": null}]),
                json!([{"created_at": time, "read_at": null}]),
            ),
            (json!({"day": 20_775}), json!({"day": "2026-11-18"})),
            (json!({"due": true, "until": 7}), json!({"due": true, "until": 7})),
            (
                json!({"amount": millis, "format": millis}),
                json!({"amount": millis, "format": millis}),
            ),
            (json!({"arguments": {"at": millis}}), json!({"arguments": {"at": millis}})),
        ];
        for (mut value, expected) in table {
            format_times(&mut value);
            assert_eq!(value, expected);
        }
    }
}
