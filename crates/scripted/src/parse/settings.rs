//! Parses settings: waits, counts, usage and prices.

use std::time::Duration;

use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::Usage;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::forms::{Forms, deserialize_forms};
use crate::script::Timing;

/// The longest wait a script can ask for.
const MAX_WAIT: Duration = Duration::from_secs(600);

deserialize_forms!(Wait);

/// A time with its unit.
#[derive(Clone, Copy)]
pub(super) struct Wait(pub(super) Duration);

impl Forms for Wait {
    const EXPECTED: &'static str = "a time with its unit, like `200ms` or `2s`,";

    fn from_scalar(scalar: Value) -> Result<Self, String> {
        let text = scalar.as_str().unwrap_or_default();
        let read = |unit: &str| text.strip_suffix(unit)?.trim_end().parse::<u64>().ok();
        let wait = match (read("ms"), read("s")) {
            (Some(millis), _) => Duration::from_millis(millis),
            (None, Some(secs)) => Duration::from_secs(secs),
            (None, None) => return Err(Self::unexpected()),
        };
        if wait > MAX_WAIT {
            return Err(format!("the longest wait is {} s", MAX_WAIT.as_secs()));
        }
        Ok(Self(wait))
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

/// The usage of an answer.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "UsageFields")]
pub(super) struct ReportedUsage(pub(super) Usage);

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct UsageFields {
    input: u64,
    output: u64,
    cached: u64,
    written: u64,
}

impl TryFrom<UsageFields> for ReportedUsage {
    type Error = &'static str;

    fn try_from(fields: UsageFields) -> Result<Self, Self::Error> {
        let UsageFields { input, output, cached, written } = fields;
        if cached > input {
            return Err("`cached` is part of `input` and cannot exceed it");
        }
        if written > input - cached {
            return Err("`written` is a part of `input` besides `cached`");
        }
        Ok(Self(Usage { input, output, cached, written }))
    }
}

/// Dollars for a million tokens.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(try_from = "f64")]
struct Dollars(Usd);

impl TryFrom<f64> for Dollars {
    type Error = &'static str;

    fn try_from(dollars: f64) -> Result<Self, Self::Error> {
        if !(0.0..=1_000_000.0).contains(&dollars) {
            return Err("a price is from 0 to 1000000 dollars");
        }
        Ok(Self(Usd::from_micros((dollars * 1_000_000.0).round() as u64)))
    }
}

/// A price, free by default.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PriceFields {
    input: Dollars,
    output: Dollars,
    cached_input: Option<Dollars>,
    cache_write: Option<Dollars>,
}

impl From<PriceFields> for ModelPrice {
    fn from(fields: PriceFields) -> Self {
        Self {
            input: fields.input.0,
            output: fields.output.0,
            cached_input: fields.cached_input.map(|Dollars(price)| price),
            cache_write: fields.cache_write.map(|Dollars(price)| price),
        }
    }
}

impl Timing {
    /// Returns the timing with these settings instead, where they are set.
    pub(super) fn with(
        self,
        delay: Option<Wait>,
        pause: Option<Wait>,
        chunk: Option<usize>,
    ) -> Self {
        Self {
            delay: delay.map_or(self.delay, |Wait(delay)| delay),
            pause: pause.map_or(self.pause, |Wait(pause)| pause),
            chunk: chunk.or(self.chunk),
        }
    }
}
