//! Parses conditions.

use regex::{Regex, RegexBuilder};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::forms::{Forms, NOT_A_TEXT, deserialize_forms, one_or_more};
use crate::condition::{NumberMatch, ResultMatch, TextMatch};

deserialize_forms!(ResultMatch, TextMatch);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextFields {
    #[serde(default, deserialize_with = "one_or_more")]
    contains: Vec<String>,
    regex: Option<Pattern>,
    is: Option<String>,
}

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

/// A text to look for, several alternatives, or a mapping.
impl Forms for TextMatch {
    fn from_scalar(scalar: Value) -> Result<Self, String> {
        Self::containing(&[scalar.as_str().ok_or(NOT_A_TEXT)?.to_owned()])
    }

    fn from_map<'de, D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        let fields = TextFields::deserialize(map)?;
        match (fields.contains.is_empty(), fields.regex, fields.is) {
            (false, None, None) => Self::containing(&fields.contains).map_err(D::Error::custom),
            (true, Some(Pattern(regex)), None) => Ok(Self::Pattern(regex)),
            (true, None, Some(text)) => Ok(Self::Exact(text)),
            _ => Err(D::Error::custom("write one of `contains`, `regex` and `is`")),
        }
    }

    fn from_list<'de, D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Self::containing(&Vec::deserialize(list)?).map_err(D::Error::custom)
    }
}

impl TextMatch {
    /// Matches texts that contain one of these, ignoring case.
    fn containing(texts: &[String]) -> Result<Self, String> {
        if texts.is_empty() {
            return Err("this list is empty; leave it out".to_owned());
        }
        if texts.iter().any(String::is_empty) {
            return Err("every text contains an empty one; leave this out".to_owned());
        }
        let escaped: Vec<String> = texts.iter().map(|text| regex::escape(text)).collect();
        let regex = RegexBuilder::new(&escaped.join("|")).case_insensitive(true).build();
        regex.map(Self::Pattern).map_err(|error| error.to_string())
    }
}

/// `3`, or `3+` for 3 and above.
impl TryFrom<Value> for NumberMatch {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        if let Value::String(text) = value {
            let first = text.strip_suffix('+').and_then(|number| number.parse().ok());
            return first.map(Self::From).ok_or("write a number, or `3+` for all from 3 on");
        }
        let number = value.as_u64().filter(|number| *number >= 1);
        number.map(Self::Exactly).ok_or("a whole number from 1 on is expected here")
    }
}

/// The name of a tool, or a mapping with more conditions.
impl Forms for ResultMatch {
    fn from_scalar(scalar: Value) -> Result<Self, String> {
        let tool = scalar.as_str().ok_or(NOT_A_TEXT)?.to_owned();
        Ok(Self { tool: Some(tool), status: Vec::new(), content: None })
    }

    fn from_map<'de, D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        /// The fields of [`ResultMatch`], whose own `Deserialize` knows the short form too.
        #[derive(Deserialize)]
        #[serde(remote = "ResultMatch", deny_unknown_fields)]
        struct ResultFields {
            tool: Option<String>,
            #[serde(default, deserialize_with = "one_or_more")]
            status: Vec<ostler_engine::outcome::OutcomeStatus>,
            content: Option<TextMatch>,
        }
        ResultFields::deserialize(map)
    }
}
