//! What an API key may use, finer than its role: resources of the HTTP API, to read or also
//! to change them. A scope only narrows what the role allows.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many days a key is valid unless somebody says otherwise.
pub const DEFAULT_KEY_DAYS: u32 = 90;
/// The longest time that a key is valid, unless it never expires.
pub const MAX_KEY_DAYS: u32 = 3650;

const DAY: Duration = Duration::from_secs(86_400);

/// Returns how long a key of this many days is valid.
pub const fn key_lifetime(days: u32) -> Duration {
    DAY.saturating_mul(days)
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyAccess {
    Read,
    /// Includes reading.
    Write,
}

/// A resource of the API and what may be done with it, such as `knowledge:write`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyScope {
    /// The word after the organization in a path, or [`KeyScope::ALL`].
    resource: String,
    access: KeyAccess,
}

/// The text is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a scope; one is the resource in a path and `read` or `write`, such as \
     `sessions:read`, or `*:read` for all resources"
)]
pub struct InvalidKeyScope(pub String);

impl KeyScope {
    /// Stands for every resource.
    const ALL: &str = "*";

    fn covers(&self, resource: &str, access: KeyAccess) -> bool {
        (self.resource == Self::ALL || self.resource == resource) && self.access >= access
    }
}

impl FromStr for KeyScope {
    type Err = InvalidKeyScope;

    fn from_str(text: &str) -> Result<Self, InvalidKeyScope> {
        let invalid = || InvalidKeyScope(text.to_owned());
        let (resource, access) = text.split_once(':').ok_or_else(invalid)?;
        let is_word = !resource.is_empty()
            && resource.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let access = match access {
            "read" => KeyAccess::Read,
            "write" => KeyAccess::Write,
            _ => return Err(invalid()),
        };
        if !is_word && resource != Self::ALL {
            return Err(invalid());
        }
        Ok(Self { resource: resource.to_owned(), access })
    }
}

impl fmt::Display for KeyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            KeyAccess::Read => "read",
            KeyAccess::Write => "write",
        };
        write!(f, "{}:{access}", self.resource)
    }
}

/// The scopes of a key; none means everything that its role allows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct KeyScopes(Vec<KeyScope>);

impl KeyScopes {
    /// Returns whether a request for a resource is within the scopes.
    pub fn cover(&self, resource: &str, access: KeyAccess) -> bool {
        self.0.is_empty() || self.0.iter().any(|scope| scope.covers(resource, access))
    }

    /// Returns whether everything within other scopes is within these too.
    pub fn include(&self, other: &Self) -> bool {
        let covers = |scope: &KeyScope| self.cover(&scope.resource, scope.access);
        self.is_unlimited() || (!other.is_unlimited() && other.0.iter().all(covers))
    }

    /// Returns whether the role alone decides.
    pub const fn is_unlimited(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<KeyScope> for KeyScopes {
    fn from_iter<I: IntoIterator<Item = KeyScope>>(scopes: I) -> Self {
        let mut scopes: Vec<KeyScope> = scopes.into_iter().collect();
        scopes.sort();
        scopes.dedup();
        Self(scopes)
    }
}

/// Separated by spaces.
impl fmt::Display for KeyScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Vec::<String>::from(self.clone()).join(" "))
    }
}

impl FromStr for KeyScopes {
    type Err = InvalidKeyScope;

    fn from_str(text: &str) -> Result<Self, InvalidKeyScope> {
        text.split_whitespace().map(str::parse).collect()
    }
}

impl TryFrom<Vec<String>> for KeyScopes {
    type Error = InvalidKeyScope;

    fn try_from(texts: Vec<String>) -> Result<Self, InvalidKeyScope> {
        texts.iter().map(|text| text.parse()).collect()
    }
}

impl From<KeyScopes> for Vec<String> {
    fn from(scopes: KeyScopes) -> Self {
        scopes.0.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::KeyAccess::{Read, Write};
    use super::{InvalidKeyScope, KeyScopes};

    #[test]
    fn s12_scopes_name_resources_and_what_may_be_done_with_them() {
        for (scopes, resource, access, expected) in [
            ("", "credits", Write, true),
            ("credits:read", "credits", Read, true),
            ("credits:read", "credits", Write, false),
            ("credits:write", "credits", Read, true),
            ("credits:write", "sessions", Read, false),
            ("*:read", "sessions", Read, true),
            ("*:read", "sessions", Write, false),
            ("*:read knowledge:write", "knowledge", Write, true),
            ("sessions:read", "session", Read, false),
            ("sessions:read", "", Read, false),
        ] {
            let parsed: KeyScopes = scopes.parse().unwrap();
            assert_eq!(parsed.cover(resource, access), expected, "{scopes} {resource} {access:?}");
        }
    }

    #[test]
    fn s12_scopes_are_read_back_from_their_text() {
        let scopes: KeyScopes = "sessions:read  credits:write sessions:read".parse().unwrap();
        assert_eq!(scopes.to_string(), "credits:write sessions:read");
        assert_eq!(scopes.to_string().parse(), Ok(scopes));
        for text in ["sessions", "sessions:", ":read", "sessions:delete", "a b:read", "Ü:read"] {
            let last = text.split_whitespace().next().unwrap();
            let refused = text.parse::<KeyScopes>();
            assert_eq!(refused, Err(InvalidKeyScope(last.to_owned())), "{text}");
        }
    }
}
