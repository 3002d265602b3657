//! Sample values of the domain.

use std::collections::BTreeSet;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection, ToolSelection};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_domain::soul::{Soul, SoulOrigin, SoulVersion};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::ToolProfile;

/// Returns a top-level org in Rome with the Pro plan.
pub fn org(id: OrgId, slug: &str) -> Org {
    Org {
        id,
        slug: slug.into(),
        name: capitalize(slug),
        place: OrgPlace::TopLevel,
        plan: LicencePlan::Pro,
        sub_orgs_enabled: false,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
        archived: false,
        credits: Default::default(),
    }
}

/// Returns an active customer-service agent with every tool, the model `scripted` and
/// the limits of an org's agent.
pub fn agent(org: OrgId, id: AgentId, slug: &str) -> Agent {
    Agent {
        id,
        org,
        slug: slug.into(),
        display_name: capitalize(slug),
        subtype: Subtype::CustomerService,
        protection: Protection::Open,
        status: AgentStatus::Active,
        kind: AgentKind::Conversational,
        template: None,
        tools: ToolSelection { profile: ToolProfile::Everything, policy: ToolPolicy::default() },
        models: vec!["scripted".into()],
        brand: None,
        autonomy: AutonomyLevel::SemiAutonomous,
        require_approval_for: BTreeSet::new(),
        blocked_topics: Vec::new(),
        limits: AgentLimits::ORG,
        knowledge_tags: BTreeSet::new(),
        created_at: Timestamp::from_millis(0),
    }
}

/// Returns the first version of a soul that has only a personality.
pub fn first_soul(personality: &str) -> SoulVersion {
    let soul = Soul { personality: personality.into(), ..Soul::default() };
    SoulVersion { version: 1, soul, origin: SoulOrigin::Created, at: Timestamp::from_millis(0) }
}

/// Returns an enabled binding to a channel.
pub fn binding(id: BindingId, channel: Channel) -> Binding {
    Binding { id, name: String::new(), channel, enabled: true, priority: 1 }
}

/// Returns the key of a customer's conversation.
pub fn customer_key(org: OrgId, binding: BindingId, person: &str) -> ConversationKey {
    let peer = Peer::Person(person.to_owned());
    ConversationKey { org, binding, peer, entry: ConversationEntry::Customer }
}

fn capitalize(slug: &str) -> String {
    let (first, rest) = slug.split_at(1);
    first.to_uppercase() + rest
}
