//! Selects the agent for a piece of work: among the available agents with the
//! required skill, the least loaded one.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::AgentName;

/// A skill of an agent. Case-insensitive.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(from = "String", into = "String")]
pub struct AgentSkill(String);

impl From<String> for AgentSkill {
    fn from(text: String) -> Self {
        Self(text.trim().to_lowercase())
    }
}

impl From<&str> for AgentSkill {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<AgentSkill> for String {
    fn from(skill: AgentSkill) -> Self {
        skill.0
    }
}

/// Where an agent receives its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// In a queue of its own.
    #[default]
    Pinned,
    /// In a shared queue; it is created when a message arrives.
    Hosted,
}

impl Placement {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Hosted => "hosted",
        }
    }

    /// Returns the placement with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Pinned, Self::Hosted].into_iter().find(|placement| placement.name() == name)
    }
}

/// How many agents have a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillCoverage {
    pub capability: AgentSkill,
    pub available: u64,
    pub unavailable: u64,
}

/// Whether an agent takes work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    Available,
    /// Stopped, or its circuit breaker is open.
    Unavailable,
}

/// An agent that may be selected for the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelegationCandidate {
    pub name: AgentName,
    pub capabilities: BTreeSet<AgentSkill>,
    pub availability: Availability,
    /// Messages in work or waiting.
    pub load: u64,
    /// How many messages it handles at once; zero counts as one.
    pub concurrency: u32,
}

impl DelegationCandidate {
    /// Compares how long new work would wait: load divided by concurrency.
    fn cmp_load(&self, other: &Self) -> Ordering {
        let waits = |mine: &Self, theirs: &Self| {
            u128::from(mine.load) * u128::from(theirs.concurrency.max(1))
        };
        waits(self, other).cmp(&waits(other, self)).then_with(|| self.name.cmp(&other.name))
    }
}

/// Why no agent can be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoCapableAgent {
    #[error("no agent has this capability")]
    NoSuchSkill,
    #[error("every agent with this capability is unavailable")]
    AllUnavailable,
}

/// Selects the agent for work that needs `skill`.
pub fn select_agent<'a>(
    skill: &AgentSkill,
    candidates: &'a [DelegationCandidate],
) -> Result<&'a DelegationCandidate, NoCapableAgent> {
    let mut able = candidates.iter().filter(|agent| agent.capabilities.contains(skill)).peekable();
    if able.peek().is_none() {
        return Err(NoCapableAgent::NoSuchSkill);
    }
    able.filter(|agent| agent.availability == Availability::Available)
        .min_by(|agent, other| agent.cmp_load(other))
        .ok_or(NoCapableAgent::AllUnavailable)
}

#[cfg(test)]
mod tests {
    use super::{AgentSkill, Availability, DelegationCandidate, NoCapableAgent, select_agent};

    fn candidate(name: &str, capability: &str, load: u64, concurrency: u32) -> DelegationCandidate {
        DelegationCandidate {
            name: name.parse().unwrap(),
            capabilities: [capability.into()].into(),
            availability: Availability::Available,
            load,
            concurrency,
        }
    }

    fn away(candidate: DelegationCandidate) -> DelegationCandidate {
        DelegationCandidate { availability: Availability::Unavailable, ..candidate }
    }

    /// X57: the least loaded available agent is chosen; unavailable ones are skipped.
    #[test]
    fn x57_the_least_loaded_available_agent_is_chosen() {
        let check = |candidates: &[DelegationCandidate], expected: Result<&str, NoCapableAgent>| {
            let chosen = select_agent(&AgentSkill::from("Code-Review"), candidates);
            assert_eq!(chosen.map(|agent| agent.name.as_str()), expected, "{candidates:?}");
        };
        let (a, b) = (candidate("a", "code-review", 3, 1), candidate("b", "CODE-REVIEW", 2, 1));
        let wide = candidate("wide", "code-review", 8, 8);
        let cook = candidate("cook", "cooking", 0, 1);
        check(&[a.clone(), b.clone(), cook.clone()], Ok("b"));
        check(&[a.clone(), away(b.clone())], Ok("a"));
        check(&[a.clone(), b.clone(), wide.clone()], Ok("wide"));
        check(&[b.clone(), candidate("a", "code-review", 2, 0)], Ok("a"));
        check(&[away(a), away(b)], Err(NoCapableAgent::AllUnavailable));
        check(&[cook], Err(NoCapableAgent::NoSuchSkill));
        check(&[], Err(NoCapableAgent::NoSuchSkill));
    }
}
