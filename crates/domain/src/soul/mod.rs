//! Souls: the versioned personality and rules of an agent.

pub mod patch;
pub mod proposal;
pub mod reflection;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::id::{AgentId, ProposalId};
use crate::time::Timestamp;

/// Personality and rules of an agent. Every field is optional.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Soul {
    /// In a sentence or two.
    pub personality: String,
    pub traits: Vec<String>,
    pub communication_style: String,
    pub core_values: Vec<String>,
    pub never_do: Vec<String>,
    pub always_do: Vec<String>,
    /// Phrases that escalate the conversation to a human.
    pub escalation_triggers: Vec<String>,
    /// Anything else, as Markdown.
    pub soul_markdown: String,
}

/// A field of a soul.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SoulField {
    Personality,
    Traits,
    CommunicationStyle,
    CoreValues,
    NeverDo,
    AlwaysDo,
    EscalationTriggers,
    SoulMarkdown,
}

impl SoulField {
    /// Returns the name of the field.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Personality => "personality",
            Self::Traits => "traits",
            Self::CommunicationStyle => "communication_style",
            Self::CoreValues => "core_values",
            Self::NeverDo => "never_do",
            Self::AlwaysDo => "always_do",
            Self::EscalationTriggers => "escalation_triggers",
            Self::SoulMarkdown => "soul_markdown",
        }
    }
}

impl Soul {
    /// Returns the fields in which `other` differs.
    pub fn changed_fields(&self, other: &Self) -> BTreeSet<SoulField> {
        [
            (SoulField::Personality, self.personality != other.personality),
            (SoulField::Traits, self.traits != other.traits),
            (SoulField::CommunicationStyle, self.communication_style != other.communication_style),
            (SoulField::CoreValues, self.core_values != other.core_values),
            (SoulField::NeverDo, self.never_do != other.never_do),
            (SoulField::AlwaysDo, self.always_do != other.always_do),
            (SoulField::EscalationTriggers, self.escalation_triggers != other.escalation_triggers),
            (SoulField::SoulMarkdown, self.soul_markdown != other.soul_markdown),
        ]
        .into_iter()
        .filter_map(|(field, changed)| changed.then_some(field))
        .collect()
    }
}

/// What created a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SoulOrigin {
    /// The agent was created with it.
    Created,
    Edited,
    Proposal(ProposalId),
    /// An earlier version was restored.
    Rollback {
        to: u32,
    },
}

/// One version of a soul. Versions are never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoulVersion {
    /// Its number, from 1.
    pub version: u32,
    pub soul: Soul,
    pub origin: SoulOrigin,
    pub at: Timestamp,
}

/// All versions of a soul, from the first on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoulHistory {
    first: SoulVersion,
    later: Vec<SoulVersion>,
}

/// The soul has no version with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no version {wanted} of this soul; the versions are 1 to {newest}")]
pub struct NoSuchVersion {
    pub wanted: u32,
    pub newest: u32,
}

impl SoulHistory {
    /// Creates a history with version 1.
    pub const fn new(soul: Soul, at: Timestamp) -> Self {
        let first = SoulVersion { version: 1, soul, origin: SoulOrigin::Created, at };
        Self { first, later: Vec::new() }
    }

    /// Creates a history from its versions, from 1; returns `None` if one is missing.
    pub fn from_versions(versions: Vec<SoulVersion>) -> Option<Self> {
        let complete = versions.iter().zip(1..).all(|(version, number)| version.version == number);
        let mut versions = versions.into_iter();
        let first = versions.next().filter(|_| complete)?;
        Some(Self { first, later: versions.collect() })
    }

    /// Returns the current version.
    pub fn current(&self) -> &SoulVersion {
        self.later.last().unwrap_or(&self.first)
    }

    /// Returns all versions, from 1.
    pub fn versions(&self) -> impl Iterator<Item = &SoulVersion> {
        std::iter::once(&self.first).chain(&self.later)
    }

    /// Returns a version by its number.
    pub fn get(&self, version: u32) -> Result<&SoulVersion, NoSuchVersion> {
        let newest = self.current().version;
        self.versions()
            .find(|known| known.version == version)
            .ok_or(NoSuchVersion { wanted: version, newest })
    }

    /// Adds a new version.
    pub fn push(&mut self, soul: Soul, origin: SoulOrigin, at: Timestamp) -> &SoulVersion {
        let version = self.current().version + 1;
        self.later.push(SoulVersion { version, soul, origin, at });
        self.current()
    }

    /// Restores an earlier version as a new one.
    pub fn rollback(&mut self, to: u32, at: Timestamp) -> Result<&SoulVersion, NoSuchVersion> {
        let soul = self.get(to)?.soul.clone();
        Ok(self.push(soul, SoulOrigin::Rollback { to }, at))
    }
}

/// Returns the agent whose soul this agent uses: its template, if it has one, else
/// itself.
pub fn soul_owner(agent: &Agent) -> AgentId {
    agent.template.unwrap_or(agent.id)
}

#[cfg(test)]
mod tests {
    use super::{NoSuchVersion, Soul, SoulField, SoulHistory, SoulOrigin, SoulVersion, soul_owner};
    use crate::agent::AgentKind;
    use crate::agent::subtype::Subtype;
    use crate::testing;
    use crate::time::Timestamp;

    const AT: Timestamp = Timestamp::from_millis(0);

    fn soul(personality: &str) -> Soul {
        Soul { personality: personality.into(), ..Soul::default() }
    }

    /// A19: all fields survive storage, and missing ones are tolerated.
    #[test]
    fn a19_a_soul_round_trips() {
        let full = Soul {
            personality: "warm".into(),
            traits: vec!["patient".into()],
            communication_style: "short sentences".into(),
            core_values: vec!["honesty".into()],
            never_do: vec!["promise refunds".into()],
            always_do: vec!["greet".into()],
            escalation_triggers: vec!["lawyer".into()],
            soul_markdown: "# Gia".into(),
        };
        let stored = serde_json::to_string(&full).unwrap();
        assert_eq!(serde_json::from_str::<Soul>(&stored).unwrap(), full);
        let sparse: Soul = serde_json::from_str(r#"{"personality":"warm"}"#).unwrap();
        assert_eq!(sparse, soul("warm"));
        assert_eq!(Soul::default().changed_fields(&full).len(), 8);
        assert_eq!(SoulHistory::new(full, AT).current().version, 1);
    }

    /// H07: a rollback creates a new version with the old content, also of version 1, and the
    /// history stays complete.
    #[test]
    fn h07_a_rollback_is_a_new_version() {
        let mut history = SoulHistory::new(soul("one"), AT);
        history.push(soul("two"), SoulOrigin::Edited, AT);
        let back = history.rollback(1, AT).unwrap().clone();
        assert_eq!((back.version, back.soul), (3, soul("one")));
        assert_eq!(back.origin, SoulOrigin::Rollback { to: 1 });
        let all: Vec<u32> = history.versions().map(|version| version.version).collect();
        assert_eq!(all, [1, 2, 3]);
        let missing = NoSuchVersion { wanted: 9, newest: 3 };
        assert_eq!(history.rollback(9, AT), Err(missing));
    }

    #[test]
    fn a_history_with_a_missing_version_is_refused() {
        let mut history = SoulHistory::new(soul("one"), AT);
        history.push(soul("two"), SoulOrigin::Edited, AT);
        let versions: Vec<SoulVersion> = history.versions().cloned().collect();
        assert_eq!(SoulHistory::from_versions(versions.clone()), Some(history));
        assert_eq!(SoulHistory::from_versions(versions[1..].to_vec()), None);
        assert_eq!(SoulHistory::from_versions(vec![]), None);
    }

    /// H04: a change makes version n+1 and leaves n readable.
    #[test]
    fn h04_old_versions_stay_readable() {
        let mut history = SoulHistory::new(soul("one"), AT);
        history.push(soul("two"), SoulOrigin::Edited, AT);
        assert_eq!(history.current().soul, soul("two"));
        assert_eq!(history.get(1).unwrap().soul, soul("one"));
    }

    /// H04: a protected agent and its workers use the template's soul, which is stored only
    /// there.
    #[test]
    fn h04_a_worker_has_its_templates_soul() {
        let quinn = testing::agent("quinn", Subtype::System);
        let mut worker = testing::agent("w1", Subtype::System);
        worker.kind = AgentKind::Worker;
        worker.template = quinn.template;
        assert_eq!(Some(soul_owner(&worker)), quinn.template);
        assert_eq!(soul_owner(&worker), soul_owner(&quinn));
        let gia = testing::agent("gia", Subtype::CustomerService);
        assert_eq!(soul_owner(&gia), gia.id);
    }

    #[test]
    fn changed_fields_lists_the_fields_that_differ() {
        let other = Soul { never_do: vec!["x".into()], ..soul("two") };
        let changed = soul("one").changed_fields(&other);
        assert_eq!(changed, [SoulField::Personality, SoulField::NeverDo].into());
    }
}
