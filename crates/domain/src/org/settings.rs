//! Settings of an org for its conversations.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::channel::Channel;
use crate::gate::approval;
use crate::human::triggers::TriggerSettings;
use crate::id::BindingId;
use crate::identity_check::IdentityCheck;
use crate::money::caps::SessionBudget;
use crate::notice::preferences::{NoticeDestination, NoticePreferences, NoticeTopic};
use crate::org::sign_up::SignUpSettings;
use crate::session::errors::ErrorPolicy;
use crate::session::guided::InterviewTemplate;
use crate::session::lifetime::{ClosePolicy, Lifetime, ReopenPolicy};
use crate::soul::reflection::ReflectionSettings;
use crate::team::config::TeamConfig;
use crate::tool::ToolName;

/// The settings that an agent may change for its org. All others bound what agents do, spend
/// or tell people, and are changed by people only.
pub const AGENT_SETTINGS: [&str; 5] = ["close", "interviews", "lifetimes", "reopen", "team"];

/// Returns the first setting of a change that only a person makes.
pub fn owners_setting<'a>(mut changed: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    changed.find(|name| !AGENT_SETTINGS.contains(name))
}

/// Settings of an org for its conversations. Every part is optional.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OrgSettings {
    /// How its agents work together; without it there are no handoffs.
    pub team: Option<TeamConfig>,
    /// When a conversation is escalated to a person automatically.
    pub triggers: TriggerSettings,
    /// How long sessions live, where that differs from the channel's default.
    pub lifetimes: BTreeMap<Channel, Lifetime>,
    /// What a message after the end of a session does.
    pub reopen: ReopenPolicy,
    /// What happens at the end of a session.
    pub close: ClosePolicy,
    pub errors: ErrorPolicy,
    /// Spending limits of a session.
    pub session_budget: SessionBudget,
    /// How long people have to decide on an approval.
    pub approvals: ApprovalSettings,
    /// The interview that guides new conversations on a channel.
    pub interviews: BTreeMap<Channel, InterviewTemplate>,
    /// Where the org's own people are notified.
    pub people: NotifyAddresses,
    /// What people want to be notified of, by e-mail address; [`OWNER`] stands for the
    /// addresses in `people`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub notices: BTreeMap<String, PersonNotices>,
    /// The tool of the org that makes refunds: an HTTP tool or a tool of an MCP server. Without
    /// it a refund is a request in the records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_provider: Option<ToolName>,
    /// The hosts that agents may call without asking after they have read private or outside
    /// content; `*` for all.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub web_hosts: BTreeSet<String>,
    /// How customers prove who they are where their channel does not tell. Without it, only
    /// the channel proves anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_check: Option<IdentityCheck>,
    /// The models of agents that name none, in order of preference. Without any, the default
    /// of the installation is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// What strangers get who sign up with the platform's system agent. Without it nobody
    /// can; only the platform's organization has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_up: Option<SignUpSettings>,
    /// When souls are reflected on by themselves. Without it they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soul_reflection: Option<ReflectionSettings>,
    /// Replies that people send often, by name; see [`crate::session::canned_reply`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub canned_replies: BTreeMap<String, String>,
}

impl OrgSettings {
    /// Returns the models of an agent: its own, or else those of its org.
    pub fn models_of<'a>(&'a self, agent: &'a Agent) -> &'a [String] {
        if agent.models.is_empty() { &self.models } else { &agent.models }
    }

    /// Returns the address of a person for notices. A person without an e-mail binding of
    /// their own gets mail at the address of their account, through the binding of the
    /// owner's.
    pub fn notice_address(
        &self,
        person: &str,
        destination: NoticeDestination,
    ) -> Option<ChannelAddress> {
        let is_owner = person == OWNER;
        let own = self.notices.get(person);
        match destination {
            NoticeDestination::Chat => {
                let default = self.people.owner.as_ref().filter(|_| is_owner);
                own.and_then(|own| own.chat.as_ref()).or(default).cloned()
            }
            NoticeDestination::Email => {
                let default = self.people.owner_email.as_ref().map(|owner| match is_owner {
                    true => owner.clone(),
                    false => ChannelAddress { identifier: person.to_owned(), ..owner.clone() },
                });
                own.and_then(|own| own.email.clone()).or(default)
            }
            NoticeDestination::TeamGroup => self.people.team_group.clone().filter(|_| is_owner),
            NoticeDestination::Digest => {
                let to = own.map(|own| own.preferences.digest.to).unwrap_or_default();
                self.notice_address(person, to.into())
            }
        }
    }

    /// Returns the destinations at which a person can be reached with a notice of a topic.
    /// The team's group takes escalations only where that is switched on.
    pub fn notice_destinations(
        &self,
        person: &str,
        topic: NoticeTopic,
    ) -> BTreeSet<NoticeDestination> {
        let team_group = self.team.as_ref().is_some_and(|team| team.team_group_enabled);
        let open = |destination: &NoticeDestination| {
            *destination != NoticeDestination::TeamGroup
                || topic != NoticeTopic::Escalations
                || team_group
        };
        let all = NoticeDestination::ALL.into_iter().filter(open);
        all.filter(|one| self.notice_address(person, *one).is_some()).collect()
    }

    /// Returns how long sessions on a channel live.
    pub fn lifetime(&self, channel: &Channel) -> Lifetime {
        self.lifetimes.get(channel).copied().unwrap_or_else(|| Lifetime::default_for(channel))
    }
}

/// How long people have to decide on an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalSettings {
    #[serde(rename = "expire_after_secs", with = "crate::time::secs")]
    #[schemars(with = "u64")]
    pub expire_after: Duration,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self { expire_after: approval::DEFAULT_APPROVAL_TTL }
    }
}

/// The name of the person whose addresses are in [`OrgSettings::people`].
pub const OWNER: &str = "owner";

/// The addresses of a person for notices, and what they want to be notified of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PersonNotices {
    /// The person's chat.
    pub chat: Option<ChannelAddress>,
    /// The person's e-mail address, with the binding that sends the mail.
    pub email: Option<ChannelAddress>,
    pub preferences: NoticePreferences,
}

/// Where the org's own people are notified.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NotifyAddresses {
    /// The owner's chat.
    pub owner: Option<ChannelAddress>,
    pub team_group: Option<ChannelAddress>,
    /// The owner's e-mail address, with the binding that sends the mail.
    pub owner_email: Option<ChannelAddress>,
}

/// A person or a group on a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelAddress {
    pub binding: BindingId,
    /// The channel's id of the person or group.
    pub identifier: String,
}

#[cfg(test)]
mod tests {
    use super::{OrgSettings, owners_setting};
    use crate::agent::subtype::Subtype;
    use crate::channel::Channel;
    use crate::session::lifetime::Lifetime;

    /// L39: agents change how conversations go, not what bounds agents.
    #[test]
    fn l39_an_agent_changes_no_setting_that_bounds_agents() {
        let table: [(&[&str], Option<&str>); 9] = [
            (&[], None),
            (&["close", "interviews", "lifetimes", "reopen", "team"], None),
            (&["lifetimes", "approvals"], Some("approvals")),
            (&["session_budget"], Some("session_budget")),
            (&["people"], Some("people")),
            (&["web_hosts", "team"], Some("web_hosts")),
            (&["triggers"], Some("triggers")),
            (&["payment_provider"], Some("payment_provider")),
            (&["something_new"], Some("something_new")),
        ];
        for (changed, expected) in table {
            assert_eq!(owners_setting(changed.iter().copied()), expected, "{changed:?}");
        }
    }

    /// O19: an agent's own models come before those of its org.
    #[test]
    fn o19_an_agent_without_models_has_those_of_its_org() {
        let settings = OrgSettings { models: vec!["a/b".into()], ..OrgSettings::default() };
        let mut gia = crate::testing::agent("gia", Subtype::CustomerService);
        gia.models.clear();
        assert_eq!(settings.models_of(&gia), ["a/b"]);
        gia.models = vec!["c/d".into()];
        assert_eq!(settings.models_of(&gia), ["c/d"]);
    }

    /// G58: every part may be missing, and what is set is the org's own.
    #[test]
    fn g58_settings_have_defaults_for_all_that_is_missing() {
        let defaults: OrgSettings = serde_json::from_str("{}").unwrap();
        assert_eq!(defaults, OrgSettings::default());
        assert_eq!(defaults.lifetime(&Channel::Webchat), Lifetime::default_for(&Channel::Webchat));
        let text = r#"{"team": {"max_handoffs": 2},
            "lifetimes": {"sms": {"idle_secs": 60, "longest_secs": 120}}}"#;
        let settings: OrgSettings = serde_json::from_str(text).unwrap();
        assert_eq!(settings.team.as_ref().map(|team| team.max_handoffs), Some(2));
        assert_eq!(settings.lifetime(&Channel::Sms).idle.as_secs(), 60);
        let again: OrgSettings =
            serde_json::from_str(&serde_json::to_string(&settings).unwrap()).unwrap();
        assert_eq!(again, settings);
    }
}
