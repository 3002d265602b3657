//! Parsing the settings of bindings.

use serde::de::DeserializeOwned;
use url::Url;

/// Parses settings. An empty text means no settings.
pub(crate) fn parse<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    serde_json::from_str(json).map_err(|error| error.to_string())
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
