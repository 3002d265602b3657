//! Parsing the settings of bindings, and saying what is wrong with them.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSetting {
    /// The field, such as `smtp.port`; empty for the settings as a whole.
    pub path: String,
    /// What is wrong and what is expected.
    pub reason: String,
}

impl InvalidSetting {
    pub(crate) fn new(path: &str, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into() }
    }
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, reason } = self;
        let name = path.rsplit('.').next().unwrap_or_default();
        if name.is_empty() || reason.contains(&format!("`{name}`")) {
            f.write_str(reason)
        } else {
            write!(f, "`{path}`: {reason}")
        }
    }
}

/// Parses settings. An empty text means no settings.
pub(crate) fn parse<T: DeserializeOwned>(json: &str) -> Result<T, InvalidSetting> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    let value: Value = serde_json::from_str(json)
        .map_err(|error| InvalidSetting::new("", format!("they are not JSON: {error}")))?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { "" } else { &path };
        InvalidSetting::new(path, plain_reason(&error.into_inner().to_string()))
    })
}

/// Says what a parser's error means for a person who writes settings.
fn plain_reason(error: &str) -> String {
    let split = |prefix: &str, middle: &str| {
        let (found, expected) = error.strip_prefix(prefix)?.split_once(middle)?;
        Some((found.to_owned(), expected.to_owned()))
    };
    if let Some((name, known)) = split("unknown field ", ", expected ") {
        let known = known.strip_prefix("one of ").unwrap_or(&known);
        return format!("there is no setting {name}; there are {known}");
    }
    if let Some(name) = error.strip_prefix("missing field ") {
        return format!("{name} is missing");
    }
    if let Some((value, known)) = split("unknown variant ", ", expected ") {
        return format!("{value} is not possible; use {known}");
    }
    if let Some((found, expected)) = split("invalid type: ", ", expected ") {
        return format!("expected {}, not {}", expected_value(&expected), found_type(&found));
    }
    if let Some((found, expected)) = split("invalid value: ", ", expected ") {
        let found = found.split_once(' ').map_or(found.as_str(), |(_, value)| value);
        return format!("expected {}, not {found}", expected_value(&expected));
    }
    error.to_owned()
}

fn expected_value(expected: &str) -> &str {
    match expected {
        "u16" => "a whole number from 0 to 65535",
        "usize" => "a whole number",
        "a string" | "string or map" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

fn found_type(found: &str) -> &str {
    match found.split(' ').next().unwrap_or_default() {
        "string" => "a text",
        "integer" => "a whole number",
        "floating" => "a number with a fraction",
        "boolean" => "true or false",
        "null" => "nothing",
        "map" => "a table",
        "sequence" => "a list",
        _ => found,
    }
}

/// Parses a URL that paths are appended to, and removes its trailing slash.
pub(crate) fn parse_base_url(text: &str) -> Result<String, String> {
    parse_http_url(text).map(|url| url.as_str().trim_end_matches('/').to_owned())
}

/// Parses a URL with the scheme `http` or `https`, without credentials.
pub(crate) fn parse_http_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    let url = url.filter(|url| ["http", "https"].contains(&url.scheme()));
    let url = url.filter(|url| url.username().is_empty() && url.password().is_none());
    url.ok_or_else(|| {
        "a URL starts with https:// or http:// and has no user name or password".to_owned()
    })
}
