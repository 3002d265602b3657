//! What travels between business layers: issues up, work down, learnings up.

pub mod delegation;
pub mod insight;
pub mod issue;
pub mod route;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::agent::subtype::Subtype;

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

/// A coordinator tried to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a coordinator routes and does not decide; the PM does")]
pub struct RoutesOnly;

/// Whether an agent of this subtype may resolve, dismiss or accept.
pub const fn check_decider(subtype: &Subtype) -> Result<(), RoutesOnly> {
    match subtype {
        Subtype::Coordinator => Err(RoutesOnly),
        _ => Ok(()),
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
    use super::{BadWeight, RoutesOnly, Weight, check_decider};
    use crate::agent::subtype::Subtype;

    /// L16, L24: low, medium or high and nothing else.
    #[test]
    fn l16_a_severity_is_one_of_three() {
        assert_eq!("low".parse(), Ok(Weight::Low));
        assert_eq!("medium".parse(), Ok(Weight::Medium));
        assert_eq!("high".parse(), Ok(Weight::High));
        assert_eq!("urgent".parse::<Weight>(), Err(BadWeight("urgent".into())));
    }

    /// L12: a coordinator routes and does not decide.
    #[test]
    fn l12_a_coordinator_does_not_decide() {
        assert_eq!(check_decider(&Subtype::Coordinator), Err(RoutesOnly));
        assert_eq!(check_decider(&Subtype::Pm), Ok(()));
    }
}
