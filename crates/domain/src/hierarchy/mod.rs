//! What travels between business layers: issues up, work down, learnings up;
//! and how an org comes to be and is reached.

pub mod bootstrap;
pub mod chat;
pub mod delegation;
pub mod insight;
pub mod issue;
pub mod route;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::agent::subtype::Subtype;
use crate::id::{AgentId, OrgId, UserId};

/// How much something matters: the severity of an issue, the priority of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// A little.
    Low,
    /// Somewhat.
    Medium,
    /// A lot.
    High,
}

/// The text is not one of the three.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of low, medium, high")]
pub struct BadWeight(String);

impl FromStr for Weight {
    type Err = BadWeight;

    fn from_str(text: &str) -> Result<Self, BadWeight> {
        match text {
            "low" => Ok(Self::Low),
            "medium" => Ok(Self::Medium),
            "high" => Ok(Self::High),
            _ => Err(BadWeight(text.to_owned())),
        }
    }
}

/// Somebody who decides on what came to an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// A person of this org.
    Person {
        /// Who.
        user: UserId,
        /// The person's org.
        org: OrgId,
    },
    /// An agent of this org.
    Agent {
        /// Which.
        agent: AgentId,
        /// Its org.
        org: OrgId,
        /// Its role.
        subtype: Subtype,
    },
}

/// Why somebody may not decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTheDecider {
    /// It did not come to this org.
    #[error("this is for another organization to decide")]
    OtherOrg,
    /// A coordinator routes.
    #[error("a coordinator routes and does not decide; the PM does")]
    RoutesOnly,
    /// Another agent than the PM.
    #[error("the PM decides this, or a person")]
    NotThePm,
}

/// Whether somebody may resolve, dismiss, accept or acknowledge what came to
/// `target`: its people may, its PM, and a system agent of it.
pub fn check_decider(decider: &Decider, target: OrgId) -> Result<(), NotTheDecider> {
    match decider {
        Decider::Person { org, .. } | Decider::Agent { org, .. } if *org != target => {
            Err(NotTheDecider::OtherOrg)
        }
        Decider::Person { .. } | Decider::Agent { subtype: Subtype::Pm | Subtype::System, .. } => {
            Ok(())
        }
        Decider::Agent { subtype: Subtype::Coordinator, .. } => Err(NotTheDecider::RoutesOnly),
        Decider::Agent { .. } => Err(NotTheDecider::NotThePm),
    }
}

/// A required text is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is required and must not be empty")]
pub struct Missing(pub &'static str);

/// The text, if there is one.
fn required(name: &'static str, text: &str) -> Result<String, Missing> {
    let text = text.trim();
    if text.is_empty() { Err(Missing(name)) } else { Ok(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::{BadWeight, Decider, NotTheDecider, Weight, check_decider};
    use crate::agent::subtype::Subtype;
    use crate::id::{AgentId, OrgId, UserId};

    /// L16, L24: low, medium or high and nothing else.
    #[test]
    fn l16_a_severity_is_one_of_three() {
        assert_eq!("low".parse(), Ok(Weight::Low));
        assert_eq!("medium".parse(), Ok(Weight::Medium));
        assert_eq!("high".parse(), Ok(Weight::High));
        assert_eq!("urgent".parse::<Weight>(), Err(BadWeight("urgent".into())));
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
            (person(elsewhere), Err(NotTheDecider::OtherOrg)),
            (agent(here, "pm"), Ok(())),
            (agent(here, "system"), Ok(())),
            (agent(elsewhere, "pm"), Err(NotTheDecider::OtherOrg)),
            (agent(here, "coordinator"), Err(NotTheDecider::RoutesOnly)),
            (agent(here, "customer_service"), Err(NotTheDecider::NotThePm)),
        ];
        for (decider, expected) in table {
            assert_eq!(check_decider(&decider, here), expected, "{decider:?}");
        }
    }
}
