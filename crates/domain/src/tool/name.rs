//! Tool names.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of a tool: 1 to 64 letters, digits, `_` or `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ToolName(#[schemars(with = "String")] Cow<'static, str>);

/// The text is not a valid tool name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be the name of a tool; use 1 to 64 letters, digits, `_` or `-`")]
pub struct InvalidToolName(String);

impl ToolName {
    /// Creates a name from a constant, unchecked.
    pub const fn from_static(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolName {
    type Err = InvalidToolName;

    fn from_str(name: &str) -> Result<Self, InvalidToolName> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        if (1..=64).contains(&name.len()) && name.chars().all(allowed) {
            Ok(Self(Cow::Owned(name.to_owned())))
        } else {
            Err(InvalidToolName(name.to_owned()))
        }
    }
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <Cow<'de, str>>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

// A name compares and hashes like its text, so that collections of names can be queried
// with any text from a model.
impl std::borrow::Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidToolName, ToolName};

    #[test]
    fn tool_names_are_short_and_plain() {
        for name in ["query_org_data", "mcp__github__search-issues", "a"] {
            assert_eq!(name.parse::<ToolName>().unwrap().as_str(), name);
        }
        for name in ["", "two words", "naïve", "a.b", &"x".repeat(65)] {
            assert_eq!(name.parse::<ToolName>(), Err(InvalidToolName(name.to_owned())));
        }
    }
}
