//! The settings of an org for its conversations.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ostler_domain::channel::Channel;
use ostler_domain::human::triggers::{TriggerKind, TriggerSettings};
use ostler_domain::identity_check::IdentityCheck;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::org::settings::{
    ApprovalSettings, ChannelAddress, NotifyAddresses, OrgSettings,
};
use ostler_domain::org::sign_up::SignUpSettings;
use ostler_domain::session::errors::ErrorPolicy;
use ostler_domain::session::guided::InterviewTemplate;
use ostler_domain::session::lifetime::{ClosePolicy, Lifetime, ReopenPolicy};
use ostler_domain::soul::reflection::ReflectionSettings;
use ostler_domain::team::config::{AutoResume, HandoffTargets, TeamConfig, UnansweredPolicy};
use ostler_domain::tool::ToolName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::{Names, UnknownName};
use super::notices::{NoticesDefinition, notices_by_person};

/// How the conversations of an organization work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SettingsDefinition {
    /// How its agents work together; without it there are no handoffs.
    pub team: Option<TeamDefinition>,
    /// When a conversation is escalated to a person automatically.
    pub triggers: TriggerSettings,
    /// How long sessions live, by channel, where that differs from the default.
    pub lifetimes: BTreeMap<Channel, Lifetime>,
    /// What a message after the end of a session does.
    pub reopen: ReopenPolicy,
    /// What happens at the end of a session.
    pub close: ClosePolicy,
    /// When failing tools are disabled.
    pub errors: ErrorPolicy,
    /// What a session may spend.
    pub session_budget: SessionBudgetDefinition,
    /// How long people have to decide on an approval.
    pub approvals: ApprovalSettings,
    /// The interviews that guide new conversations, by channel.
    pub interviews: BTreeMap<Channel, InterviewTemplate>,
    /// Where the organization's own people are notified.
    pub people: PeopleDefinition,
    /// What people want to be notified of. The order does not matter.
    #[serde(deserialize_with = "notices_by_person")]
    pub notices: Vec<NoticesDefinition>,
    /// The tool of the organization that makes refunds; without it a refund is a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_provider: Option<ToolName>,
    /// The hosts that agents may call without asking after they have read private or outside
    /// content, such as `docs.example.com`; `*` for all.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub web_hosts: BTreeSet<String>,
    /// The check by which customers prove who they are where their channel does not tell: the
    /// number of an order, and an e-mail address or telephone number; without it, only the
    /// channel proves anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_check: Option<IdentityCheck>,
    /// The models of agents that name none, in order of preference; without any, the default
    /// of the installation.
    pub models: Vec<String>,
    /// What strangers get who sign up on the platform's bot or web chat; without it nobody
    /// can. Only the platform's organization has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_up: Option<SignUpSettings>,
    /// When agents look back at recent conversations by themselves and propose changes of
    /// souls; without it they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soul_reflection: Option<ReflectionSettings>,
    /// Replies that people send often, by name. `{name}` stands for the name of the customer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub canned_replies: BTreeMap<String, String>,
}

/// What a session may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionBudgetDefinition {
    /// The most credits of a session.
    pub cap: Credits,
    /// From here on only tools that read may run.
    pub warning: Credits,
}

impl Default for SessionBudgetDefinition {
    fn default() -> Self {
        let SessionBudget { cap, warning, .. } = SessionBudget::default();
        Self { cap, warning }
    }
}

/// Where the organization's own people are notified.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PeopleDefinition {
    /// The owner's chat.
    pub owner: Option<PersonDefinition>,
    /// The group of the team.
    pub team_group: Option<PersonDefinition>,
    /// The owner's e-mail address.
    pub owner_email: Option<PersonDefinition>,
}

/// A person or a group on a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonDefinition {
    /// The channel that messages are sent through, by its name.
    pub channel: String,
    /// The person or group there, such as a chat id or an e-mail address.
    pub identifier: String,
}

/// How agents work together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TeamDefinition {
    /// The most handoffs in one session.
    pub max_handoffs: u32,
    /// The least time between two handoffs.
    pub handoff_cooldown_secs: u64,
    /// Whether a handoff needs a reason.
    pub require_handoff_reason: bool,
    /// Whether the owner is notified of each handoff.
    pub notify_owner_on_handoff: bool,
    /// Whether several agents may work inside one run.
    pub allow_parallel_execution: bool,
    /// When the agent continues by itself after a person's last message.
    pub auto_resume_after_human: AutoResume,
    /// Which agent may hand over to which: slugs, or `*` for all; without it every agent
    /// to every other.
    pub permissions: Option<BTreeMap<String, BTreeSet<String>>>,
    /// The most credits of a session with several agents.
    pub budget: Credits,
    /// Whether escalations are posted to the team's group.
    pub team_group_enabled: bool,
    /// How long an urgent escalation waits before an e-mail is sent.
    pub email_after_secs: u64,
    /// What happens to an escalation that nobody answers.
    pub unanswered: UnansweredPolicy,
    /// The agent that handles a trigger instead of a person, by slug.
    pub specialists: BTreeMap<TriggerKind, String>,
}

/// Stands for every agent in `permissions`.
const ANYONE: &str = "*";

impl Default for TeamDefinition {
    fn default() -> Self {
        Self::from_config(&TeamConfig::default(), &Names::default())
    }
}

impl TeamDefinition {
    /// Leaves out the agents that are named beside all of them.
    pub(super) fn normalize(&mut self) {
        for targets in self.permissions.iter_mut().flat_map(BTreeMap::values_mut) {
            if targets.contains(ANYONE) {
                *targets = [ANYONE.to_owned()].into();
            }
        }
    }

    fn from_config(config: &TeamConfig, names: &Names) -> Self {
        let targets = |targets: &HandoffTargets| match targets {
            HandoffTargets::Anyone => [ANYONE.to_owned()].into(),
            HandoffTargets::Only(agents) => {
                agents.iter().map(|agent| names.agents.name(*agent)).collect()
            }
        };
        let permissions = config.permissions.as_ref().map(|matrix| {
            matrix.iter().map(|(from, to)| (names.agents.name(*from), targets(to))).collect()
        });
        let specialists = config.specialists.iter();
        Self {
            max_handoffs: config.max_handoffs,
            handoff_cooldown_secs: config.handoff_cooldown.as_secs(),
            require_handoff_reason: config.require_handoff_reason,
            notify_owner_on_handoff: config.notify_owner_on_handoff,
            allow_parallel_execution: config.allow_parallel_execution,
            auto_resume_after_human: config.auto_resume_after_human,
            permissions,
            budget: config.budget,
            team_group_enabled: config.team_group_enabled,
            email_after_secs: config.email_after.as_secs(),
            unanswered: config.unanswered,
            specialists: specialists
                .map(|(trigger, agent)| (*trigger, names.agents.name(*agent)))
                .collect(),
        }
    }

    fn to_config(&self, names: &Names) -> Result<TeamConfig, UnknownName> {
        let agent = |name: &String| names.agents.find("agent", name);
        let targets = |targets: &BTreeSet<String>| match targets.contains(ANYONE) {
            true => Ok(HandoffTargets::Anyone),
            false => Ok(HandoffTargets::Only(targets.iter().map(agent).collect::<Result<_, _>>()?)),
        };
        let permissions = self.permissions.as_ref().map(|matrix| {
            matrix.iter().map(|(from, to)| Ok((agent(from)?, targets(to)?))).collect()
        });
        let specialists = self.specialists.iter();
        Ok(TeamConfig {
            max_handoffs: self.max_handoffs,
            handoff_cooldown: Duration::from_secs(self.handoff_cooldown_secs),
            require_handoff_reason: self.require_handoff_reason,
            notify_owner_on_handoff: self.notify_owner_on_handoff,
            allow_parallel_execution: self.allow_parallel_execution,
            auto_resume_after_human: self.auto_resume_after_human,
            permissions: permissions.transpose()?,
            budget: self.budget,
            team_group_enabled: self.team_group_enabled,
            email_after: Duration::from_secs(self.email_after_secs),
            unanswered: self.unanswered,
            specialists: specialists
                .map(|(trigger, name)| Ok((*trigger, agent(name)?)))
                .collect::<Result<_, UnknownName>>()?,
        })
    }
}

impl PersonDefinition {
    pub(super) fn from_address(address: &ChannelAddress, names: &Names) -> Self {
        let channel = names.channels.name(address.binding);
        Self { channel, identifier: address.identifier.clone() }
    }

    pub(super) fn to_address(&self, names: &Names) -> Result<ChannelAddress, UnknownName> {
        let binding = names.channels.find("channel", &self.channel)?;
        Ok(ChannelAddress { binding, identifier: self.identifier.clone() })
    }
}

impl PeopleDefinition {
    fn from_addresses(people: &NotifyAddresses, names: &Names) -> Self {
        let person = |address: &Option<ChannelAddress>| {
            address.as_ref().map(|address| PersonDefinition::from_address(address, names))
        };
        Self {
            owner: person(&people.owner),
            team_group: person(&people.team_group),
            owner_email: person(&people.owner_email),
        }
    }

    fn to_addresses(&self, names: &Names) -> Result<NotifyAddresses, UnknownName> {
        let address = |person: &Option<PersonDefinition>| {
            person.as_ref().map(|person| person.to_address(names)).transpose()
        };
        Ok(NotifyAddresses {
            owner: address(&self.owner)?,
            team_group: address(&self.team_group)?,
            owner_email: address(&self.owner_email)?,
        })
    }
}

impl SettingsDefinition {
    /// Describes the settings of an org.
    pub fn from_settings(settings: &OrgSettings, names: &Names) -> Self {
        let OrgSettings { triggers, lifetimes, interviews, payment_provider, .. } =
            settings.clone();
        let SessionBudget { cap, warning, .. } = settings.session_budget;
        Self {
            team: settings.team.as_ref().map(|team| TeamDefinition::from_config(team, names)),
            triggers,
            lifetimes,
            reopen: settings.reopen,
            close: settings.close,
            errors: settings.errors,
            session_budget: SessionBudgetDefinition { cap, warning },
            approvals: settings.approvals,
            interviews,
            people: PeopleDefinition::from_addresses(&settings.people, names),
            notices: settings
                .notices
                .iter()
                .map(|(person, own)| NoticesDefinition::from_notices(person, own, names))
                .collect(),
            payment_provider,
            web_hosts: settings.web_hosts.clone(),
            identity_check: settings.identity_check.clone(),
            models: settings.models.clone(),
            sign_up: settings.sign_up,
            soul_reflection: settings.soul_reflection,
            canned_replies: settings.canned_replies.clone(),
        }
    }

    /// Returns the settings that this describes.
    pub fn to_settings(&self, names: &Names) -> Result<OrgSettings, UnknownName> {
        let SessionBudgetDefinition { cap, warning } = self.session_budget;
        Ok(OrgSettings {
            team: self.team.as_ref().map(|team| team.to_config(names)).transpose()?,
            triggers: self.triggers.clone(),
            lifetimes: self.lifetimes.clone(),
            reopen: self.reopen,
            close: self.close,
            errors: self.errors,
            session_budget: SessionBudget { cap, warning, spent: Credits::ZERO },
            approvals: self.approvals,
            interviews: self.interviews.clone(),
            people: self.people.to_addresses(names)?,
            notices: self
                .notices
                .iter()
                .map(|own| Ok((own.person.clone(), own.to_notices(names)?)))
                .collect::<Result<_, UnknownName>>()?,
            payment_provider: self.payment_provider.clone(),
            web_hosts: self.web_hosts.clone(),
            identity_check: self.identity_check.clone(),
            models: self.models.clone(),
            sign_up: self.sign_up,
            soul_reflection: self.soul_reflection,
            canned_replies: self.canned_replies.clone(),
        })
    }
}
