//! Checks that the definitions of HTTP tools and MCP servers share.

use std::collections::BTreeMap;

use super::{SecretText, ToolProblem};
use crate::secret::{WRITTEN_SECRET, is_written_secret};

/// The most characters of a description.
pub(super) const MAX_DESCRIPTION: usize = 2000;
/// The highest price of a call, in credits.
pub(super) const MAX_PRICE: u32 = 1000;

/// Collects the problems of a definition.
#[derive(Default)]
pub(super) struct Problems(Vec<ToolProblem>);

impl Problems {
    pub(super) fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(ToolProblem::new(field, message));
    }

    pub(super) fn into_vec(self) -> Vec<ToolProblem> {
        self.0
    }

    /// Checks that a value that is written down is no secret.
    pub(super) fn check_written(&mut self, field: String, name: &str, value: &str) {
        let is_placeholder = value.starts_with('{') && value.ends_with('}');
        if is_written_secret(name, value) && !is_placeholder {
            self.add(field, WRITTEN_SECRET);
        }
    }

    /// Checks headers or environment variables.
    pub(super) fn check_values(&mut self, field: &str, values: &BTreeMap<String, SecretText>) {
        for (name, value) in values {
            let path = format!("{field}.{name}");
            let text = value.to_string();
            if text.chars().any(char::is_control) {
                self.add(&path, "the value must be a single line");
            }
            if let SecretText::Plain(text) = value {
                self.check_written(path, name, text);
            }
        }
    }

    /// Checks header names. `reserved` are set by the program itself.
    pub(super) fn check_headers(&mut self, headers: &BTreeMap<String, SecretText>) {
        const RESERVED: [&str; 7] = [
            "host",
            "content-length",
            "transfer-encoding",
            "connection",
            "upgrade",
            "idempotency-key",
            "accept-encoding",
        ];
        for name in headers.keys() {
            let path = format!("headers.{name}");
            let allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            if name.is_empty() || !name.chars().all(allowed) {
                self.add(path, "this is not the name of a header");
            } else if RESERVED.contains(&name.to_lowercase().as_str()) {
                self.add(path, "this header is set by Ostler itself; leave it out");
            }
        }
        self.check_values("headers", headers);
    }

    /// Checks a URL: its form, and that no secret is written in it. Placeholders are allowed
    /// after the host.
    pub(super) fn check_url(&mut self, url: &str) {
        let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))
        else {
            return self.add("url", "a URL starts with https:// or http://");
        };
        let (authority, _) = split_authority(rest);
        if authority.is_empty() {
            self.add("url", "the URL has no host");
        }
        if authority.contains(['{', '}']) {
            self.add("url", "the host must be fixed; use placeholders in the path or the query");
        }
        if authority.contains('@') {
            self.add("url", "a user name or password must not be written in a URL; use a header");
        }
        if url.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
            self.add("url", "a URL has no spaces and no backslashes");
        }
        if url.contains('#') {
            self.add("url", "a URL of a request has no part after `#`");
        }
        let query = url.split_once('?').map_or("", |(_, query)| query);
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            self.check_written("url".to_owned(), name, value);
        }
    }

    pub(super) fn check_timeout(&mut self, secs: u32, max: u32) {
        if !(1..=max).contains(&secs) {
            self.add("timeout_secs", format!("a call may take 1 to {max} seconds"));
        }
    }

    pub(super) fn check_price(&mut self, price: Option<u32>) {
        if price.is_some_and(|price| price > MAX_PRICE) {
            self.add("price", format!("a call costs at most {MAX_PRICE} credits"));
        }
    }
}

/// Splits a URL without its scheme into the authority and the rest.
pub(super) fn split_authority(rest: &str) -> (&str, &str) {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest.split_at(end)
}
