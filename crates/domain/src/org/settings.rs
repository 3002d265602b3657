//! What an org has set about its conversations.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::channel::Channel;
use crate::gate::approval;
use crate::human::triggers::TriggerSettings;
use crate::id::BindingId;
use crate::money::caps::SessionBudget;
use crate::session::errors::ErrorPolicy;
use crate::session::guided::InterviewTemplate;
use crate::session::lifetime::{ClosePolicy, Lifetime, ReopenPolicy};
use crate::team::config::TeamConfig;

/// What an org has set about its conversations. Every part may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OrgSettings {
    /// How its agents work together; without it they do not.
    pub team: Option<TeamConfig>,
    /// When a conversation goes to a person by itself.
    pub triggers: TriggerSettings,
    /// How long sessions live, where that is not the channel's default.
    pub lifetimes: BTreeMap<Channel, Lifetime>,
    /// What a message after the end gets.
    pub reopen: ReopenPolicy,
    /// What happens at the end.
    pub close: ClosePolicy,
    /// When failures have consequences.
    pub errors: ErrorPolicy,
    /// What a session may spend.
    pub session_budget: SessionBudget,
    /// How long people have to decide on a call.
    pub approvals: ApprovalTime,
    /// The interview that new conversations on a channel are guided by.
    pub interviews: BTreeMap<Channel, InterviewTemplate>,
    /// Where the org's own people are told of things.
    pub people: Whereabouts,
}

impl OrgSettings {
    /// How long sessions on a channel live.
    pub fn lifetime(&self, channel: &Channel) -> Lifetime {
        self.lifetimes.get(channel).copied().unwrap_or_else(|| Lifetime::of(channel))
    }
}

/// How long people have to decide on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalTime {
    /// After this time it has expired.
    #[serde(rename = "expire_after_secs", with = "crate::time::secs")]
    pub expire_after: Duration,
}

impl Default for ApprovalTime {
    fn default() -> Self {
        Self { expire_after: approval::EXPIRES_AFTER }
    }
}

/// Where the org's own people are told of things.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Whereabouts {
    /// The owner's chat: a binding, and what its channel calls the owner.
    pub owner: Option<Address>,
    /// The team's group.
    pub team_group: Option<Address>,
    /// The owner's e-mail address, and the binding that mail goes through.
    pub owner_email: Option<Address>,
}

/// Somebody, or a group, on a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The binding.
    pub binding: BindingId,
    /// What the channel calls them.
    pub identifier: String,
}

#[cfg(test)]
mod tests {
    use super::OrgSettings;
    use crate::channel::Channel;
    use crate::session::lifetime::Lifetime;

    /// G58: every part may be missing, and what is set is the org's own.
    #[test]
    fn g58_settings_have_defaults_for_all_that_is_missing() {
        let none: OrgSettings = serde_json::from_str("{}").unwrap();
        assert_eq!(none, OrgSettings::default());
        assert_eq!(none.lifetime(&Channel::Webchat), Lifetime::of(&Channel::Webchat));
        let text = r#"{"team": {"max_handoffs": 2},
            "lifetimes": {"sms": {"idle_secs": 60, "longest_secs": 120}}}"#;
        let some: OrgSettings = serde_json::from_str(text).unwrap();
        assert_eq!(some.team.as_ref().map(|team| team.max_handoffs), Some(2));
        assert_eq!(some.lifetime(&Channel::Sms).idle.as_secs(), 60);
        let again: OrgSettings =
            serde_json::from_str(&serde_json::to_string(&some).unwrap()).unwrap();
        assert_eq!(again, some);
    }
}
