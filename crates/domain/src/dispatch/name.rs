//! The names of agents and teams on the bus, and of workflows and what is in them.
//!
//! An [`AgentId`] in its written form is a name, and so is `echo`. A name has no
//! dot, so that the address made of one names nothing else.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::id::AgentId;

/// The longest name.
pub const LONGEST_NAME: usize = 100;

/// The text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name; it is 1 to 100 letters, digits, `-` and `_`")]
pub struct NotAName(String);

fn read(text: &str) -> Result<Arc<str>, NotAName> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(known) {
        Ok(text.into())
    } else {
        Err(NotAName(text.chars().take(LONGEST_NAME).collect()))
    }
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
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
            type Err = NotAName;

            fn from_str(text: &str) -> Result<Self, NotAName> {
                read(text).map(Self)
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
    /// An agent on the bus.
    AgentName;
    /// A team on the bus.
    TeamName;
    /// A step of a workflow.
    StepName;
    /// Something that happens and that workflows wait for.
    EventName;
}

impl From<AgentId> for AgentName {
    fn from(id: AgentId) -> Self {
        Self(id.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentName, LONGEST_NAME};
    use crate::id::AgentId;

    #[test]
    fn a_name_is_safe_in_an_address() {
        let longest = "x".repeat(LONGEST_NAME);
        let too_long = "x".repeat(LONGEST_NAME + 1);
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
