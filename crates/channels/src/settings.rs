//! Reading the settings of bindings.

use serde::de::DeserializeOwned;
use url::Url;

/// Reads settings. None at all are settings too.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    serde_json::from_str(json).map_err(|error| error.to_string())
}

/// An address that others are appended to, without a slash at its end.
pub(crate) fn base_url(text: &str) -> Result<String, String> {
    web_url(text).map(|url| url.as_str().trim_end_matches('/').to_owned())
}

/// An address of the web.
pub(crate) fn web_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    let url = url.filter(|url| ["http", "https"].contains(&url.scheme()));
    let url = url.filter(|url| url.username().is_empty() && url.password().is_none());
    url.ok_or_else(|| {
        "a URL starts with https:// or http:// and has no user name or password in it".to_owned()
    })
}
