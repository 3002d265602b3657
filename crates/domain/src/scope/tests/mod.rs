//! Table tests of the scope; that it only narrows is a property in `tests/`.

mod layers;
mod policy;

use std::collections::BTreeSet;

use super::policy::ToolPolicy;
use super::removal::Removal;
use super::session::SessionTools;
use super::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use crate::agent::autonomy::AutonomyLevel;
use crate::agent::subtype::Subtype;
use crate::channel::Channel;
use crate::org::Org;
use crate::org::layer::BusinessPosition;
use crate::testing;
use crate::tool::catalogue::built_in;
use crate::tool::profile::ToolProfile;
use crate::tool::{Audience, Integration, ToolName};

/// Everything a scope depends on, by default without any restriction.
struct World {
    platform: ToolPolicy,
    org: ToolPolicy,
    agent: ToolPolicy,
    integrations: BTreeSet<Integration>,
    sub_orgs_enabled: bool,
    team_coordination: bool,
    position: BusinessPosition,
    profile: ToolProfile,
    autonomy: AutonomyLevel,
    session: SessionTools,
}

impl World {
    fn new(org: &Org, subtype: &str) -> Self {
        Self {
            platform: ToolPolicy::default(),
            org: ToolPolicy::default(),
            agent: ToolPolicy::default(),
            integrations: ["payments", "unsplash", "sms"].map(Integration::new).into(),
            sub_orgs_enabled: true,
            team_coordination: true,
            position: BusinessPosition::of(org, &Subtype::from(subtype)),
            profile: ToolProfile::Everything,
            autonomy: AutonomyLevel::Autonomous,
            session: SessionTools::new(Channel::Webchat, Audience::Staff),
        }
    }

    fn facts(&self) -> ScopeFacts<'_> {
        ScopeFacts {
            platform: &self.platform,
            org: OrgTools {
                policy: &self.org,
                integrations: &self.integrations,
                sub_orgs_enabled: self.sub_orgs_enabled,
                team_coordination: self.team_coordination,
            },
            agent: AgentTools {
                position: &self.position,
                profile: self.profile,
                policy: &self.agent,
                autonomy: self.autonomy,
            },
            session: &self.session,
        }
    }

    fn scope(&self) -> ToolScope {
        resolve(built_in(), &self.facts())
    }

    fn active(&self) -> BTreeSet<String> {
        self.scope().active().map(|tool| tool.name.to_string()).collect()
    }

    fn removal(&self, tool: &str) -> Option<Removal> {
        self.scope().find(tool).unwrap().removed.clone()
    }
}

fn layer_1() -> World {
    World::new(&testing::platform(), "system")
}

fn layer_2() -> World {
    World::new(&testing::agency(), "pm")
}

fn layer_3() -> World {
    World::new(&testing::client(), "pm")
}

fn layer_4() -> World {
    World::new(&testing::client(), "customer_service")
}

fn names(names: &[&str]) -> BTreeSet<ToolName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn texts(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}
