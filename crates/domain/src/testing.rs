//! Fixtures for the table tests of this crate: a platform, an agency and a client.

use std::collections::BTreeSet;

use crate::agent::autonomy::AutonomyLevel;
use crate::agent::limits::AgentLimits;
use crate::agent::subtype::Subtype;
use crate::agent::{Agent, AgentKind, AgentStatus, Protection, ToolSelection};
use crate::id::{AgentId, OrgId};
use crate::org::plan::LicencePlan;
use crate::org::{Org, OrgPlace};
use crate::scope::policy::ToolPolicy;
use crate::time::Timestamp;
use crate::tool::profile::ToolProfile;

fn org(id: u128, slug: &str, name: &str, place: OrgPlace, plan: LicencePlan) -> Org {
    Org {
        id: OrgId::from_u128(id),
        slug: slug.into(),
        name: name.into(),
        place,
        plan,
        sub_orgs_enabled: plan == LicencePlan::Agency,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
        archived: false,
        credits: Default::default(),
    }
}

pub(crate) fn platform() -> Org {
    org(1, "platform", "Ostler Platform", OrgPlace::Platform, LicencePlan::Enterprise)
}

pub(crate) fn agency() -> Org {
    org(2, "harbour", "Harbour Agency", OrgPlace::TopLevel, LicencePlan::Agency)
}

/// A client of the agency.
pub(crate) fn client() -> Org {
    let place = OrgPlace::SubOrg { parent: agency().id };
    org(3, "bella", "Bella Pizza", place, LicencePlan::Pro)
}

/// An active agent of the client; its id follows from its slug.
pub(crate) fn agent(slug: &str, subtype: Subtype) -> Agent {
    let id = slug.bytes().fold(0, |id: u128, byte| id << 8 | u128::from(byte));
    let mut display_name = slug.to_owned();
    if let Some(first) = display_name.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    Agent {
        id: AgentId::from_u128(id),
        org: client().id,
        slug: slug.into(),
        display_name,
        template: (subtype == Subtype::System).then(|| AgentId::from_u128(id + 1)),
        protection: if subtype == Subtype::System {
            Protection::Protected
        } else {
            Protection::Open
        },
        subtype,
        status: AgentStatus::Active,
        kind: AgentKind::Conversational,
        tools: ToolSelection { profile: ToolProfile::Everything, policy: ToolPolicy::default() },
        models: vec!["scripted/demo".into()],
        brand: None,
        autonomy: AutonomyLevel::Supervised,
        require_approval_for: BTreeSet::new(),
        blocked_topics: vec![],
        limits: AgentLimits::default(),
        knowledge_tags: BTreeSet::new(),
        created_at: Timestamp::from_millis(0),
    }
}
