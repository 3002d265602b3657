//! Exchange between business layers: issues and insights go up, delegations go
//! down; and how a client org is set up and reached.

pub mod bootstrap;
pub mod chat;
pub mod deep_link;
pub mod delegation;
pub mod insight;
pub mod issue;
pub mod route;

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::subtype::Subtype;
use crate::id::{AgentId, OrgId, UserId};

/// The severity of an issue or the priority of a delegation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Importance {
    Low,
    Medium,
    High,
}

impl Importance {
    /// Returns the name in files, commands and prompts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A text that is not an importance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of low, medium, high")]
pub struct InvalidImportance(String);

impl FromStr for Importance {
    type Err = InvalidImportance;

    fn from_str(text: &str) -> Result<Self, InvalidImportance> {
        match text {
            "low" => Ok(Self::Low),
            "medium" => Ok(Self::Medium),
            "high" => Ok(Self::High),
            _ => Err(InvalidImportance(text.to_owned())),
        }
    }
}

/// The person or agent that decides on what an org has received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    Person { user: UserId, org: OrgId },
    Agent { agent: AgentId, org: OrgId, subtype: Subtype },
}

/// The reason why a decider is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecisionRefused {
    /// The other org decides.
    #[error("this is for another organization to decide")]
    OtherOrg,
    /// A coordinator routes and does not decide.
    #[error("a coordinator routes and does not decide; the PM does")]
    CoordinatorCannotDecide,
    /// Among agents only the PM decides.
    #[error("the PM decides this, or a person")]
    PmRequired,
}

/// Checks that a decider may resolve, dismiss, accept or acknowledge what `target`
/// received: its people, its PM and its system agents may.
pub fn check_decider(decider: &Decider, target: OrgId) -> Result<(), DecisionRefused> {
    match decider {
        Decider::Person { org, .. } | Decider::Agent { org, .. } if *org != target => {
            Err(DecisionRefused::OtherOrg)
        }
        Decider::Person { .. } | Decider::Agent { subtype: Subtype::Pm | Subtype::System, .. } => {
            Ok(())
        }
        Decider::Agent { subtype: Subtype::Coordinator, .. } => {
            Err(DecisionRefused::CoordinatorCannotDecide)
        }
        Decider::Agent { .. } => Err(DecisionRefused::PmRequired),
    }
}

/// A required field that is missing or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is required and must not be empty")]
pub struct MissingField(pub &'static str);

/// Returns the trimmed text, or an error naming the field if it is empty.
fn require_text(name: &'static str, text: &str) -> Result<String, MissingField> {
    let text = text.trim();
    if text.is_empty() { Err(MissingField(name)) } else { Ok(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::{Decider, DecisionRefused, Importance, InvalidImportance, check_decider};
    use crate::agent::subtype::Subtype;
    use crate::id::{AgentId, OrgId, UserId};

    /// L16, L24: low, medium or high and nothing else.
    #[test]
    fn l16_a_severity_is_one_of_three() {
        assert_eq!("low".parse(), Ok(Importance::Low));
        assert_eq!("medium".parse(), Ok(Importance::Medium));
        assert_eq!("high".parse(), Ok(Importance::High));
        assert_eq!("urgent".parse::<Importance>(), Err(InvalidImportance("urgent".into())));
    }

    /// L12: the PM or a person of the org decides; a coordinator routes.
    #[test]
    fn l12_a_coordinator_does_not_decide() {
        let (here, elsewhere) = (OrgId::from_u128(1), OrgId::from_u128(2));
        let agent = |org, subtype: &str| Decider::Agent {
            agent: AgentId::from_u128(5),
            org,
            subtype: Subtype::from(subtype),
        };
        let person = |org| Decider::Person { user: UserId::from_u128(6), org };
        let table = [
            (person(here), Ok(())),
            (person(elsewhere), Err(DecisionRefused::OtherOrg)),
            (agent(here, "pm"), Ok(())),
            (agent(here, "system"), Ok(())),
            (agent(elsewhere, "pm"), Err(DecisionRefused::OtherOrg)),
            (agent(here, "coordinator"), Err(DecisionRefused::CoordinatorCannotDecide)),
            (agent(here, "customer_service"), Err(DecisionRefused::PmRequired)),
        ];
        for (decider, expected) in table {
            assert_eq!(check_decider(&decider, here), expected, "{decider:?}");
        }
    }
}
