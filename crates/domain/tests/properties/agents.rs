//! A fixture agent for the properties that need one.

use std::collections::BTreeSet;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection, ToolSelection};
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::ToolProfile;

/// The org that agents belong to.
pub(crate) const OURS: OrgId = OrgId::from_u128(1);

pub(crate) fn id(n: usize) -> AgentId {
    AgentId::from_u128(n as u128)
}

/// An ordinary agent that talks to people.
pub(crate) fn agent(n: usize) -> Agent {
    Agent {
        id: id(n),
        org: OURS,
        slug: format!("agent-{n}"),
        display_name: format!("Agent {n}"),
        subtype: Subtype::CustomerService,
        protection: Protection::Open,
        status: AgentStatus::Active,
        kind: AgentKind::Conversational,
        template: None,
        tools: ToolSelection { profile: ToolProfile::Everything, policy: ToolPolicy::default() },
        models: vec![],
        brand: None,
        autonomy: AutonomyLevel::Supervised,
        require_approval_for: BTreeSet::new(),
        blocked_topics: vec![],
        limits: AgentLimits::default(),
        knowledge_tags: BTreeSet::new(),
        created_at: Timestamp::from_millis(0),
    }
}
