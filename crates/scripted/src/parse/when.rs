//! Parses conditions.

use ostler_engine::outcome::OutcomeStatus;
use regex::{Regex, RegexBuilder};
use serde::de::{Error as _, IntoDeserializer as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::forms::{Forms, deserialize_forms};
use crate::condition::{NumberMatch, ResultMatch, TextMatch};
use crate::error::describe;

deserialize_forms!(Names, NumberMatch, ResultMatch, Statuses, TextMatch);

/// One text, or a list of them.
struct Names(Vec<String>);

impl Forms for Names {
    const EXPECTED: &'static str = "a text";

    fn from_scalar(scalar: Value) -> Result<Self, String> {
        match scalar {
            Value::String(text) => Ok(Self(vec![text])),
            Value::Null => Err(Self::unexpected()),
            _ => Err("a text is expected here; put it in quotes".to_owned()),
        }
    }

    fn from_list<'de, D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        let names = Vec::deserialize(list)?;
        if names.is_empty() {
            return Err(D::Error::custom("this list is empty; leave it out"));
        }
        Ok(Self(names))
    }
}

/// Parses the names of tools.
pub(crate) fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Names::deserialize(from).map(|Names(names)| names)
}

/// A regular expression.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(pattern: String) -> Result<Self, String> {
        Regex::new(&pattern).map(Self).map_err(|error| {
            let message = error.to_string();
            // The lines before it show the pattern.
            let last = message.lines().last().unwrap_or_default();
            format!("invalid regular expression: {}", last.trim_start_matches("error: "))
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextFields {
    contains: Option<Names>,
    regex: Option<Pattern>,
    is: Option<String>,
}

/// A text to look for, several alternatives, or a mapping.
impl Forms for TextMatch {
    const EXPECTED: &'static str = Names::EXPECTED;

    fn from_scalar(scalar: Value) -> Result<Self, String> {
        Names::from_scalar(scalar).and_then(Self::containing)
    }

    fn from_list<'de, D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Self::containing(Names::from_list(list)?).map_err(D::Error::custom)
    }

    fn from_map<'de, D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        let TextFields { contains, regex, is } = TextFields::deserialize(map)?;
        match (contains, regex, is) {
            (Some(names), None, None) => Self::containing(names).map_err(D::Error::custom),
            (None, Some(Pattern(regex)), None) => Ok(Self::Pattern(regex)),
            (None, None, Some(text)) => Ok(Self::Exact(text)),
            _ => Err(D::Error::custom("write one of `contains`, `regex` and `is`")),
        }
    }
}

impl TextMatch {
    /// Matches texts that contain one of the names, ignoring case.
    fn containing(Names(texts): Names) -> Result<Self, String> {
        if texts.iter().any(String::is_empty) {
            return Err("every text contains an empty one; leave this out".to_owned());
        }
        let escaped: Vec<String> = texts.iter().map(|text| regex::escape(text)).collect();
        let regex = RegexBuilder::new(&escaped.join("|")).case_insensitive(true).build();
        regex.map(Self::Pattern).map_err(|error| error.to_string())
    }
}

/// `3`, or `3+` for 3 and above.
impl Forms for NumberMatch {
    const EXPECTED: &'static str = "a whole number from 1 on";

    fn from_scalar(scalar: Value) -> Result<Self, String> {
        match scalar {
            Value::String(text) => text
                .strip_suffix('+')
                .and_then(|number| number.parse().ok())
                .map(Self::From)
                .ok_or_else(|| "write a number, or `3+` for all from 3 on".to_owned()),
            other => other
                .as_u64()
                .filter(|number| *number >= 1)
                .map(Self::Exactly)
                .ok_or_else(Self::unexpected),
        }
    }
}

/// One status, or a list of them.
struct Statuses(Vec<OutcomeStatus>);

impl Forms for Statuses {
    const EXPECTED: &'static str = "a status";

    fn from_scalar(scalar: Value) -> Result<Self, String> {
        let status =
            OutcomeStatus::deserialize(scalar.as_str().unwrap_or_default().into_deserializer());
        status.map(|status| Self(vec![status])).map_err(|error| describe(&error))
    }

    fn from_list<'de, D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Vec::deserialize(list).map(Self)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultFields {
    tool: Option<String>,
    status: Option<Statuses>,
    content: Option<TextMatch>,
}

/// The name of a tool, or a mapping with more conditions.
impl Forms for ResultMatch {
    const EXPECTED: &'static str = "the name of a tool, or a mapping,";

    fn from_scalar(scalar: Value) -> Result<Self, String> {
        let tool = scalar.as_str().ok_or_else(Self::unexpected)?;
        Ok(Self { tool: Some(tool.to_owned()), status: Vec::new(), content: None })
    }

    fn from_map<'de, D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        let ResultFields { tool, status, content } = ResultFields::deserialize(map)?;
        let status = status.map_or_else(Vec::new, |Statuses(statuses)| statuses);
        Ok(Self { tool, status, content })
    }
}
