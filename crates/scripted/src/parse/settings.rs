//! Parses settings: waits, counts, usage and prices.

use std::time::Duration;

use ostler_domain::money::Usd;
use ostler_engine::model::Usage;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The longest wait a script can ask for.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// Parses a time with its unit.
pub(super) fn wait<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let Some(value) = Option::<Value>::deserialize(from)? else { return Ok(None) };
    let text = value.as_str().unwrap_or_default();
    let read = |unit: &str| text.strip_suffix(unit)?.trim_end().parse::<u64>().ok();
    let wait = read("ms").map(Duration::from_millis).or(read("s").map(Duration::from_secs));
    match wait {
        Some(wait) if wait > MAX_WAIT => {
            Err(D::Error::custom(format!("the longest wait is {} s", MAX_WAIT.as_secs())))
        }
        Some(wait) => Ok(Some(wait)),
        None => {
            Err(D::Error::custom("a time with its unit, like `200ms` or `2s`, is expected here"))
        }
    }
}

/// Parses a whole number from 1 on.
pub(crate) fn positive<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
{
    match Option::deserialize(from)? {
        Some(number) if number == T::default() => {
            Err(D::Error::custom("a whole number from 1 on is expected here"))
        }
        number => Ok(number),
    }
}

/// Parses the usage of an answer.
pub(super) fn usage<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Usage>, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct UsageFields {
        input: u64,
        output: u64,
        cached: u64,
        written: u64,
    }
    let Some(fields) = Option::deserialize(from)? else { return Ok(None) };
    let UsageFields { input, output, cached, written } = fields;
    if cached > input {
        return Err(D::Error::custom("`cached` is part of `input` and cannot exceed it"));
    }
    if written > input - cached {
        return Err(D::Error::custom("`written` is a part of `input` besides `cached`"));
    }
    Ok(Some(Usage { input, output, cached, written }))
}

/// Parses dollars for a million tokens.
pub(super) fn dollars<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Usd>, D::Error> {
    let Some(dollars) = Option::<f64>::deserialize(from)? else { return Ok(None) };
    if !(0.0..=1_000_000.0).contains(&dollars) {
        return Err(D::Error::custom("a price is from 0 to 1000000 dollars"));
    }
    Ok(Some(Usd::from_micros((dollars * 1_000_000.0).round() as u64)))
}
