//! The rules of an org and its agents, read from resources.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::agent::Agent;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::org::Org;
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, Integration, ToolSpec};
use ostler_world::spec::{
    AgentDefinition, IntegrationDefinition, Names, OrgDefinition, PlatformDefinition,
};
use ostler_world::{Address, Kind, Resources};

use crate::operations::{OperationError, Result};
use crate::org_view::AgentView;

/// The rules of an org and its agents.
pub(super) struct OrgRules {
    platform: ToolPolicy,
    policy: ToolPolicy,
    org: Org,
    integrations: BTreeSet<Integration>,
    team_coordination: bool,
    pub(super) agents: BTreeMap<AgentId, (Agent, BusinessPosition)>,
}

impl OrgRules {
    /// Reads the rules of an org from resources.
    pub(super) fn new(resources: &Resources, slug: &str, id: OrgId, names: &Names) -> Result<Self> {
        let platform: PlatformDefinition = match resources.get(&Address::of_platform()) {
            Some(platform) => platform.spec()?,
            None => PlatformDefinition::default(),
        };
        let org = resources.get(&Address::of_org(slug));
        let org = org.ok_or_else(|| OperationError::BadResource(format!("no org `{slug}`")))?;
        let definition: OrgDefinition = org.spec()?;
        let mut rules = Self {
            platform: platform.tools,
            policy: definition.tools.clone(),
            org: definition.to_org(id, names)?,
            integrations: BTreeSet::new(),
            team_coordination: definition.settings.team.is_some(),
            agents: BTreeMap::new(),
        };
        for (address, resource) in resources.iter().filter(|(one, _)| one.org == slug) {
            match address.kind {
                Kind::Integration => {
                    let one: IntegrationDefinition = resource.spec()?;
                    if one.connected {
                        rules.integrations.insert(Integration::new(&one.service));
                    }
                }
                Kind::Agent => {
                    // A new agent has made no calls.
                    let Some(agent) = names.agents.id(&address.name) else { continue };
                    let mut one: AgentDefinition = resource.spec()?;
                    // The template may be new as well; it does not decide about tools.
                    one.template = None;
                    let made = one.to_agent(agent, id, Timestamp::from_millis(0), names)?;
                    let position = BusinessPosition::of(&rules.org, &made.subtype);
                    rules.agents.insert(agent, (made, position));
                }
                _ => {}
            }
        }
        Ok(rules)
    }

    /// Adds the platform's agent that answers where the org has nobody. It works under the
    /// rules of the org, and its own are not changed with them.
    pub(super) fn add_substitute(&mut self, substitute: Option<&AgentView>) {
        if let Some(AgentView { agent, position, .. }) = substitute {
            self.agents.insert(agent.id, (agent.clone(), position.clone()));
        }
    }

    /// Resolves the scope of an agent in a session without failures.
    pub(super) fn scope(
        &self,
        agent: AgentId,
        tools: &[ToolSpec],
        channel: &Channel,
        audience: Audience,
    ) -> ToolScope {
        let Some((agent, position)) = self.agents.get(&agent) else {
            return ToolScope::unrestricted([]);
        };
        let session = SessionTools::new(channel.clone(), audience);
        let facts = ScopeFacts {
            platform: &self.platform,
            org: OrgTools {
                policy: &self.policy,
                integrations: &self.integrations,
                sub_orgs_enabled: self.org.sub_orgs_enabled,
                team_coordination: self.team_coordination,
            },
            agent: AgentTools::of(agent, position),
            session: &session,
        };
        resolve(tools.iter().cloned(), &facts)
    }
}
