//! Names of agents and teams on the bus, and of workflow steps and events.
//!
//! The text form of an [`AgentId`] is a valid name, and so is `echo`. A name has no
//! dot, so that a queue address built from one is unambiguous.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::id::AgentId;

/// Maximum length of a name in bytes.
pub const MAX_NAME_LEN: usize = 100;

/// The text is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name; it is 1 to 100 letters, digits, `-` and `_`")]
pub struct InvalidName(String);

fn parse_name(text: &str) -> Result<Arc<str>, InvalidName> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=MAX_NAME_LEN).contains(&text.len()) && text.bytes().all(known) {
        Ok(text.into())
    } else {
        Err(InvalidName(text.chars().take(MAX_NAME_LEN).collect()))
    }
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                parse_name(text).map(Self)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": "^[A-Za-z0-9_-]+$",
                    "minLength": 1,
                    "maxLength": MAX_NAME_LEN,
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

names! {
    /// Name of an agent on the bus.
    AgentName;
    /// Name of a team on the bus.
    TeamName;
    /// Name of a workflow step.
    StepName;
    /// Name of an event that workflows can wait for.
    EventName;
}

impl From<AgentId> for AgentName {
    fn from(id: AgentId) -> Self {
        Self(id.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentName, MAX_NAME_LEN};
    use crate::id::AgentId;

    #[test]
    fn a_name_is_safe_in_an_address() {
        let longest = "x".repeat(MAX_NAME_LEN);
        let too_long = "x".repeat(MAX_NAME_LEN + 1);
        let table = [
            ("echo", true),
            ("Echo-2_b", true),
            (longest.as_str(), true),
            ("", false),
            (too_long.as_str(), false),
            ("a.work", false),
            ("a:critical", false),
            ("a b", false),
            ("é", false),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse::<AgentName>().is_ok(), expected, "{text}");
        }
    }

    #[test]
    fn an_agents_id_is_a_name() {
        let id = AgentId::from_u128(7);
        assert_eq!(id.to_string().parse(), Ok(AgentName::from(id)));
    }
}
