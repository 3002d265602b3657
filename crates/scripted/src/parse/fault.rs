//! Parses faults.

use ostler_engine::model::ModelErrorKind;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::forms::{Forms, deserialize_forms};
use super::settings::Wait;
use crate::script::Fault;

const HOW: &str = "write a status like `429`, or one of `cut`, `malformed`, `timeout`, `network`";

deserialize_forms!(Fault, FaultKind);

struct FaultKind(ModelErrorKind);

/// A status, or a word.
impl Forms for FaultKind {
    const EXPECTED: &'static str = "a status or a word";

    fn from_scalar(scalar: Value) -> Result<Self, String> {
        let kind = match &scalar {
            Value::Number(number) => number
                .as_u64()
                .and_then(|status| u16::try_from(status).ok())
                .filter(|status| (400..600).contains(status))
                .map(ModelErrorKind::Status)
                .ok_or("a failure has a status from 400 to 599")?,
            Value::String(word) => match word.as_str() {
                "cut" => ModelErrorKind::Incomplete,
                "malformed" => ModelErrorKind::Malformed,
                "timeout" => ModelErrorKind::TimedOut,
                "network" => ModelErrorKind::Network,
                other => return Err(format!("unknown fault `{other}`; {HOW}")),
            },
            _ => return Err(HOW.to_owned()),
        };
        Ok(Self(kind))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultFields {
    how: Option<FaultKind>,
    after: Option<usize>,
    message: Option<String>,
    retry_after: Option<Wait>,
}

/// The kind of a fault, or a mapping with more settings.
impl Forms for Fault {
    const EXPECTED: &'static str = FaultKind::EXPECTED;

    fn from_scalar(scalar: Value) -> Result<Self, String> {
        let FaultKind(kind) = FaultKind::from_scalar(scalar)?;
        Ok(Self { kind, after: default_after(kind), message: None, retry_after: None })
    }

    fn from_map<'de, D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        let FaultFields { how, after, message, retry_after } = FaultFields::deserialize(map)?;
        let missing = || D::Error::custom(format!("`how` is missing; {HOW}"));
        let FaultKind(kind) = how.ok_or_else(missing)?;
        let after = after.unwrap_or(default_after(kind));
        Ok(Self { kind, after, message, retry_after: retry_after.map(|Wait(wait)| wait) })
    }
}

/// Returns after how many chunks a fault occurs: faults that spoil an answer come
/// after its first chunk, faults that replace it come before.
const fn default_after(kind: ModelErrorKind) -> usize {
    match kind {
        ModelErrorKind::Incomplete | ModelErrorKind::Malformed => 1,
        _ => 0,
    }
}
