//! Subtypes: the roles an agent can have.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role of an agent. The set is open: an unknown name is kept as
/// [`Subtype::Other`].
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(from = "String", into = "String")]
pub enum Subtype {
    /// Manages an org and its child orgs.
    Pm,
    SalesAssistant,
    BookingAgent,
    /// Talks to end customers, under the strictest guardrails.
    CustomerService,
    /// Routes between business layers and makes no decisions.
    Coordinator,
    /// A system agent of the platform.
    System,
    /// A role that the org has named itself.
    Other(String),
}

impl Subtype {
    /// The roles with rules of their own.
    pub const KNOWN: [Self; 6] = [
        Self::Pm,
        Self::SalesAssistant,
        Self::BookingAgent,
        Self::CustomerService,
        Self::Coordinator,
        Self::System,
    ];

    /// Returns the name that is stored and shown.
    pub fn name(&self) -> &str {
        match self {
            Self::Pm => "pm",
            Self::SalesAssistant => "sales_assistant",
            Self::BookingAgent => "booking_agent",
            Self::CustomerService => "customer_service",
            Self::Coordinator => "coordinator",
            Self::System => "system",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for Subtype {
    fn from(name: String) -> Self {
        let name = name.trim().to_lowercase();
        Self::KNOWN.into_iter().find(|known| known.name() == name).unwrap_or(Self::Other(name))
    }
}

impl From<&str> for Subtype {
    fn from(name: &str) -> Self {
        Self::from(name.to_owned())
    }
}

impl From<Subtype> for String {
    fn from(subtype: Subtype) -> Self {
        subtype.name().to_owned()
    }
}

impl fmt::Display for Subtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Subtype;

    /// L07: six known subtypes; an unknown one is accepted and kept.
    #[test]
    fn l07_known_subtypes_are_listed_and_unknown_ones_kept() {
        let names: Vec<String> = Subtype::KNOWN.map(String::from).into();
        assert_eq!(
            names,
            ["pm", "sales_assistant", "booking_agent", "customer_service", "coordinator", "system"]
        );
        for name in names {
            assert!(!matches!(Subtype::from(name.as_str()), Subtype::Other(_)), "{name}");
        }
        assert_eq!(Subtype::from("Night Porter"), Subtype::Other("night porter".into()));
    }
}
