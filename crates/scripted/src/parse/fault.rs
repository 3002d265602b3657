//! Parses faults.

use std::time::Duration;

use ostler_engine::model::ModelErrorKind;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::forms::{Forms, deserialize_forms};
use super::settings::wait;
use crate::script::Fault;

const HOW: &str = "write a status like `429`, or one of `cut`, `malformed`, `timeout`, `network`";

deserialize_forms!(Fault);

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FaultFields {
    how: Option<FaultKind>,
    after: Option<usize>,
    message: Option<String>,
    #[serde(deserialize_with = "wait")]
    retry_after: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(try_from = "Value")]
struct FaultKind(ModelErrorKind);

impl TryFrom<Value> for FaultKind {
    type Error = String;

    fn try_from(how: Value) -> Result<Self, String> {
        let status = how.as_u64().and_then(|status| u16::try_from(status).ok());
        match (&how, status) {
            (_, Some(status @ 400..600)) => Ok(Self(ModelErrorKind::Status(status))),
            (Value::Number(_), _) => Err("a failure has a status from 400 to 599".to_owned()),
            (Value::String(word), _) => match word.as_str() {
                "cut" => Ok(Self(ModelErrorKind::Incomplete)),
                "malformed" => Ok(Self(ModelErrorKind::Malformed)),
                "timeout" => Ok(Self(ModelErrorKind::TimedOut)),
                "network" => Ok(Self(ModelErrorKind::Network)),
                other => Err(format!("unknown fault `{other}`; {HOW}")),
            },
            _ => Err(HOW.to_owned()),
        }
    }
}

/// The kind of a fault, or a mapping with more settings.
impl Forms for Fault {
    fn from_scalar(scalar: Value) -> Result<Self, String> {
        let FaultKind(kind) = scalar.try_into()?;
        Ok(Self { kind, after: default_after(kind), message: None, retry_after: None })
    }

    fn from_map<'de, D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        let FaultFields { how, after, message, retry_after } = FaultFields::deserialize(map)?;
        let missing = || D::Error::custom(format!("`how` is missing; {HOW}"));
        let FaultKind(kind) = how.ok_or_else(missing)?;
        Ok(Self { kind, after: after.unwrap_or(default_after(kind)), message, retry_after })
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
