//! Which agent gets a piece of work: of those that can do it and are there, the
//! one with the least to do.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::name::AgentName;

/// A thing that an agent can do. Case does not matter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Capability(String);

impl From<String> for Capability {
    fn from(text: String) -> Self {
        Self(text.trim().to_lowercase())
    }
}

impl From<&str> for Capability {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Capability> for String {
    fn from(capability: Capability) -> Self {
        capability.0
    }
}

/// Whether an agent takes work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// It does.
    Available,
    /// It stopped, or its breaker is open.
    Unavailable,
}

/// An agent that might get the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Which agent.
    pub name: AgentName,
    /// What it can do.
    pub capabilities: BTreeSet<Capability>,
    /// Whether it takes work.
    pub availability: Availability,
    /// Messages that it has in work or waiting.
    pub load: u64,
    /// How many it handles at once; none counts as one.
    pub at_once: u32,
}

impl Candidate {
    /// Compares how long new work would wait: load for each place.
    fn busier(&self, other: &Self) -> Ordering {
        let waits =
            |mine: &Self, theirs: &Self| u128::from(mine.load) * u128::from(theirs.at_once.max(1));
        waits(self, other).cmp(&waits(other, self)).then_with(|| self.name.cmp(&other.name))
    }
}

/// Nobody can do it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NobodyAble {
    /// No agent has the capability.
    #[error("no agent has this capability")]
    Unknown,
    /// Every agent that has it is away.
    #[error("every agent with this capability is unavailable")]
    Away,
}

/// The agent that gets work of this capability.
pub fn choose<'a>(
    capability: &Capability,
    candidates: &'a [Candidate],
) -> Result<&'a Candidate, NobodyAble> {
    let mut able = candidates.iter().filter(|one| one.capabilities.contains(capability)).peekable();
    if able.peek().is_none() {
        return Err(NobodyAble::Unknown);
    }
    able.filter(|one| one.availability == Availability::Available)
        .min_by(|one, other| one.busier(other))
        .ok_or(NobodyAble::Away)
}

#[cfg(test)]
mod tests {
    use super::{Availability, Candidate, Capability, NobodyAble, choose};

    fn candidate(name: &str, capability: &str, load: u64, at_once: u32) -> Candidate {
        Candidate {
            name: name.parse().unwrap(),
            capabilities: [capability.into()].into(),
            availability: Availability::Available,
            load,
            at_once,
        }
    }

    fn away(candidate: Candidate) -> Candidate {
        Candidate { availability: Availability::Unavailable, ..candidate }
    }

    /// X57: the least loaded of those that are there; the unavailable are skipped.
    #[test]
    fn x57_the_least_loaded_available_agent_is_chosen() {
        let check = |candidates: &[Candidate], expected: Result<&str, NobodyAble>| {
            let chosen = choose(&Capability::from("Code-Review"), candidates);
            assert_eq!(chosen.map(|one| one.name.as_str()), expected, "{candidates:?}");
        };
        let (a, b) = (candidate("a", "code-review", 3, 1), candidate("b", "CODE-REVIEW", 2, 1));
        let wide = candidate("wide", "code-review", 8, 8);
        let cook = candidate("cook", "cooking", 0, 1);
        check(&[a.clone(), b.clone(), cook.clone()], Ok("b"));
        check(&[a.clone(), away(b.clone())], Ok("a"));
        check(&[a.clone(), b.clone(), wide.clone()], Ok("wide"));
        check(&[b.clone(), candidate("a", "code-review", 2, 0)], Ok("a"));
        check(&[away(a), away(b)], Err(NobodyAble::Away));
        check(&[cook], Err(NobodyAble::Unknown));
        check(&[], Err(NobodyAble::Unknown));
    }
}
