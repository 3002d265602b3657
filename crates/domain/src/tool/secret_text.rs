//! Values that may be secrets: headers and environment variables.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::secret::{InvalidSecretRef, SecretRef};

/// A text that is written down, or the location of a secret: `no-cache`, `env:SHOP_TOKEN`,
/// or with a word before it, `Bearer env:SHOP_TOKEN`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SecretText {
    Plain(String),
    Secret {
        /// What is sent before the secret, such as `Bearer `.
        prefix: String,
        secret: SecretRef,
    },
}

impl SecretText {
    /// Returns the location of the secret, if there is one.
    pub const fn secret(&self) -> Option<&SecretRef> {
        match self {
            Self::Plain(_) => None,
            Self::Secret { secret, .. } => Some(secret),
        }
    }
}

fn is_location(text: &str) -> bool {
    text.starts_with("env:") || text.starts_with("file:")
}

impl FromStr for SecretText {
    type Err = InvalidSecretRef;

    fn from_str(text: &str) -> Result<Self, InvalidSecretRef> {
        if is_location(text) {
            return Ok(Self::Secret { prefix: String::new(), secret: text.parse()? });
        }
        match text.split_once(' ') {
            Some((word, location)) if is_location(location) => {
                Ok(Self::Secret { prefix: format!("{word} "), secret: location.parse()? })
            }
            _ => Ok(Self::Plain(text.to_owned())),
        }
    }
}

impl TryFrom<String> for SecretText {
    type Error = InvalidSecretRef;

    fn try_from(text: String) -> Result<Self, InvalidSecretRef> {
        text.parse()
    }
}

impl From<SecretText> for String {
    fn from(text: SecretText) -> Self {
        text.to_string()
    }
}

impl fmt::Display for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => f.write_str(text),
            Self::Secret { prefix, secret } => write!(f, "{prefix}{secret}"),
        }
    }
}

impl JsonSchema for SecretText {
    fn schema_name() -> Cow<'static, str> {
        "SecretText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A text, or the location of a secret: `env:NAME`, `file:PATH`, or \
                            `Bearer env:NAME`",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::SecretText;

    #[test]
    fn a_value_is_text_or_the_location_of_a_secret() {
        for (text, secret) in [
            ("no-cache", None),
            ("", None),
            ("it is env:NAME", None),
            ("env:TOKEN", Some("env:TOKEN")),
            ("Bearer env:TOKEN", Some("env:TOKEN")),
            ("Bearer file:/run/secrets/a b", Some("file:/run/secrets/a b")),
        ] {
            let parsed: SecretText = text.parse().unwrap();
            assert_eq!(parsed.secret().map(ToString::to_string).as_deref(), secret, "{text}");
            assert_eq!(parsed.to_string(), text);
        }
        for text in ["env:", "Bearer env:A B", "file:"] {
            assert!(text.parse::<SecretText>().is_err(), "{text}");
        }
    }
}
