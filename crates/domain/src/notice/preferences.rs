//! What a person wants to be notified of, where, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time_of_day::TimeOfDay;

/// A group of notices that people choose destinations for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NoticeTopic {
    /// Calls that wait for a decision, expired ones, approved calls that failed, and refunds
    /// to pay.
    Approvals,
    /// Customers who need a person.
    Escalations,
    /// Credits that run low or are used up, and caps.
    Credits,
    /// Agents without a usable model.
    Models,
    /// Tools that failed too often.
    Tools,
    /// Messages that did not arrive, and channels without a connection.
    DeadLetters,
    /// Calls and messages that may or may not have taken effect.
    UnknownOutcomes,
    /// Workflows that wait for a person, or failed.
    Workflows,
    /// Conversations that one agent handed to another.
    Handoffs,
    /// Issues and work that the agency and its clients send each other, and organizations
    /// that signed up.
    Organizations,
}

/// Where a notice goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NoticeDestination {
    /// The person's chat.
    Chat,
    /// The person's e-mail address.
    Email,
    /// The group of the team.
    TeamGroup,
    /// One message a day with all that was collected.
    Digest,
}

impl NoticeTopic {
    /// All topics.
    pub const ALL: [Self; 10] = [
        Self::Approvals,
        Self::Escalations,
        Self::Credits,
        Self::Models,
        Self::Tools,
        Self::DeadLetters,
        Self::UnknownOutcomes,
        Self::Workflows,
        Self::Handoffs,
        Self::Organizations,
    ];

    /// Returns the name in files and commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Approvals => "approvals",
            Self::Escalations => "escalations",
            Self::Credits => "credits",
            Self::Models => "models",
            Self::Tools => "tools",
            Self::DeadLetters => "dead_letters",
            Self::UnknownOutcomes => "unknown_outcomes",
            Self::Workflows => "workflows",
            Self::Handoffs => "handoffs",
            Self::Organizations => "organizations",
        }
    }

    /// Returns where notices of the topic go unless a person chooses otherwise.
    pub fn default_destinations(self) -> BTreeSet<NoticeDestination> {
        match self {
            Self::Escalations => [NoticeDestination::Chat, NoticeDestination::TeamGroup].into(),
            Self::Handoffs => BTreeSet::new(),
            _ => [NoticeDestination::Chat].into(),
        }
    }
}

impl NoticeDestination {
    /// All destinations.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Email, Self::TeamGroup, Self::Digest];

    /// Returns the name in files and commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Email => "email",
            Self::TeamGroup => "team_group",
            Self::Digest => "digest",
        }
    }
}

impl fmt::Display for NoticeTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for NoticeDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is no destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a destination; use chat, email, team_group or digest")]
pub struct BadDestination(String);

impl FromStr for NoticeDestination {
    type Err = BadDestination;

    fn from_str(text: &str) -> Result<Self, BadDestination> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text.trim());
        found.ok_or_else(|| BadDestination(text.trim().to_owned()))
    }
}

/// What a person wants to be notified of, where, and when.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NoticePreferences {
    /// Where notices of a topic go, where that differs from the default. An empty list
    /// only keeps them in the list of notices.
    pub topics: BTreeMap<NoticeTopic, BTreeSet<NoticeDestination>>,
    /// When notices wait.
    pub quiet_hours: Option<QuietHours>,
    /// When collected notices are sent.
    pub digest: DigestSettings,
    /// What happens if nobody reacts to an urgent notice.
    pub unanswered: UnansweredNotices,
    /// The IANA name of the person's time zone; the organization's if it is left out.
    pub time_zone: Option<String>,
}

impl NoticePreferences {
    /// Returns where notices of a topic go.
    pub fn destinations(&self, topic: NoticeTopic) -> BTreeSet<NoticeDestination> {
        self.topics.get(&topic).cloned().unwrap_or_else(|| topic.default_destinations())
    }
}

/// A time of the day in which notices wait. It may contain midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuietHours {
    pub from: TimeOfDay,
    pub to: TimeOfDay,
    /// What urgent notices do in this time.
    #[serde(default)]
    pub urgent: UrgentNotices,
}

/// What urgent notices do in quiet hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UrgentNotices {
    /// They are sent at once.
    #[default]
    Pass,
    /// They wait like the others.
    Wait,
}

/// When collected notices are sent, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DigestSettings {
    pub at: TimeOfDay,
    pub to: DirectDestination,
}

impl Default for DigestSettings {
    fn default() -> Self {
        Self { at: TimeOfDay::at_hour(8), to: DirectDestination::Chat }
    }
}

/// What happens if nobody reacts to an urgent notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UnansweredNotices {
    /// How long a notice waits for a reaction.
    #[serde(rename = "after_secs", with = "crate::time::secs")]
    #[schemars(with = "u64")]
    pub after: Duration,
    /// Where it is sent then.
    pub to: DirectDestination,
}

impl Default for UnansweredNotices {
    fn default() -> Self {
        Self { after: Duration::from_secs(5 * 60), to: DirectDestination::Email }
    }
}

/// A destination that messages are sent to directly.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DirectDestination {
    #[default]
    Chat,
    Email,
    TeamGroup,
}

impl From<DirectDestination> for NoticeDestination {
    fn from(destination: DirectDestination) -> Self {
        match destination {
            DirectDestination::Chat => Self::Chat,
            DirectDestination::Email => Self::Email,
            DirectDestination::TeamGroup => Self::TeamGroup,
        }
    }
}
