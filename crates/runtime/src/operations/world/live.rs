//! The live state of every org as resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostler_domain::agent::{Agent, AgentKind};
use ostler_domain::id::{AgentId, BindingId, DocumentId, IntegrationId, OrgId, UserId};
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::tool::org_tools::OrgTool;
use ostler_store::{ConfigRevision, IntegrationConnection, OrgState};
use ostler_world::plan::{AppliedFiles, KeptFields};
use ostler_world::spec::{
    AgentDefinition, ChannelDefinition, DocumentDefinition, HttpToolDefinition,
    IntegrationDefinition, McpServerDefinition, MemberDefinition, NameMap, Names, OrgDefinition,
    PlatformDefinition, ScheduleResource, SettingsDefinition, WorkflowResource,
};
use ostler_world::{Address, Kind, Resource, Resources};
use serde_json::{Map, Value};

use super::super::Result;
use super::data::{Digests, read_digests};
use crate::records::decode;

/// The live resources, with the ids that their names stand for.
#[derive(Debug, Default)]
pub struct LiveWorld {
    pub resources: Resources,
    /// What was applied from files last.
    pub applied: AppliedFiles,
    /// Digests of the rows of business data that were applied, by name.
    pub(super) applied_data: BTreeMap<String, Digests>,
    pub(super) names: Arc<NameMap<OrgId>>,
    pub(super) orgs: BTreeMap<String, LiveOrg>,
    /// The org of the platform, also if it may not be viewed.
    pub(super) platform: Option<OrgId>,
}

/// The ids of an org's resources.
#[derive(Debug)]
pub(super) struct LiveOrg {
    pub(super) revision: ConfigRevision,
    pub(super) names: Names,
    pub(super) agents: BTreeMap<AgentId, Agent>,
    pub(super) integrations: BTreeMap<String, IntegrationId>,
    pub(super) documents: BTreeMap<String, DocumentId>,
    pub(super) members: BTreeMap<String, UserId>,
}

impl LiveWorld {
    /// Adds the state of an org.
    pub(super) fn add(&mut self, state: OrgState) -> Result<()> {
        let slug = state.org.slug.clone();
        let mut names = Names { orgs: self.names.clone(), ..Names::default() };
        for config in &state.agents {
            names.agents.insert(&config.agent.slug, config.agent.id);
        }
        for bound in &state.bindings {
            names.channels.insert(&bound.binding.name(), bound.binding.id);
        }
        if let Some(applied) = &state.applied {
            let stored: BTreeMap<String, Value> = decode("applied resources", applied)?;
            self.applied_data.extend(read_digests(&stored));
            self.applied.kept.extend(read_kept(&stored));
            self.applied.resources.extend(read_applied(stored));
        }
        let settings: OrgSettings = match &state.settings {
            Some(data) => decode("settings", data)?,
            None => OrgSettings::default(),
        };
        let org = OrgDefinition::from_org(
            &state.org,
            (state.starting_credits, &state.sharing),
            state.policy.policy.clone(),
            SettingsDefinition::from_settings(&settings, &names),
            &names,
        );
        self.insert(&slug, Kind::Org, &slug, Resource::new(&org));
        let mut live = LiveOrg {
            revision: state.revision,
            agents: BTreeMap::new(),
            integrations: BTreeMap::new(),
            documents: BTreeMap::new(),
            members: BTreeMap::new(),
            names,
        };
        self.add_parts(&slug, state, &mut live);
        self.orgs.insert(slug, live);
        Ok(())
    }

    fn add_parts(&mut self, slug: &str, state: OrgState, live: &mut LiveOrg) {
        for config in state.agents {
            let soul = config.soul.map(|version| version.soul).unwrap_or_default();
            let spec = AgentDefinition::from_agent(&config.agent, soul, slug, &live.names);
            // Workers come and go with the load; files describe their templates.
            if config.agent.kind != AgentKind::Worker {
                self.insert(slug, Kind::Agent, &spec.slug, Resource::new(&spec));
            }
            live.agents.insert(config.agent.id, config.agent);
        }
        for bound in state.bindings {
            let spec = ChannelDefinition {
                org: slug.to_owned(),
                name: bound.binding.name(),
                kind: bound.binding.channel,
                agent: live.names.agents.name(bound.agent),
                enabled: bound.binding.enabled,
                priority: bound.binding.priority,
                settings: table(&bound.settings),
                secret: bound.secret,
            };
            self.insert(slug, Kind::Channel, &spec.name, Resource::new(&spec));
        }
        for tool in state.tools {
            let name = tool.name().to_owned();
            let org = slug.to_owned();
            let (kind, resource) = match tool {
                OrgTool::Http(tool) => {
                    (Kind::Tool, Resource::new(&HttpToolDefinition { org, tool }))
                }
                OrgTool::Mcp(server) => {
                    (Kind::McpServer, Resource::new(&McpServerDefinition { org, server }))
                }
            };
            self.insert(slug, kind, &name, resource);
        }
        for integration in state.integrations {
            let spec = IntegrationDefinition {
                org: slug.to_owned(),
                service: integration.service.to_string(),
                connected: integration.connection == IntegrationConnection::Connected,
                settings: table(&integration.settings),
                secret: integration.secret,
            };
            live.integrations.insert(spec.service.clone(), integration.id);
            self.insert(slug, Kind::Integration, &spec.service, Resource::new(&spec));
        }
        for stored in state.documents {
            let spec = DocumentDefinition {
                org: slug.to_owned(),
                title: stored.document.title().to_owned(),
                tags: stored.document.tags().clone(),
                text: stored.document.body().to_owned(),
            };
            live.documents.insert(spec.title.clone(), stored.id);
            self.insert(slug, Kind::Document, &spec.title, Resource::new(&spec));
        }
        for definition in state.workflows {
            let name = definition.name().to_owned();
            let spec = WorkflowResource { org: slug.to_owned(), definition };
            self.insert(slug, Kind::Workflow, &name, Resource::new(&spec));
        }
        for schedule in state.schedules {
            let name = schedule.name.clone();
            let spec = ScheduleResource { org: slug.to_owned(), schedule };
            self.insert(slug, Kind::Schedule, &name, Resource::new(&spec));
        }
        for member in state.members {
            let email = member.user.email.trim().to_lowercase();
            let spec = MemberDefinition {
                org: slug.to_owned(),
                email,
                name: member.user.name,
                role: member.role,
            };
            live.members.insert(spec.email.clone(), member.user.id);
            self.insert(slug, Kind::Member, &spec.email, Resource::new(&spec));
        }
    }

    /// Adds the policy of the platform, if there is one that may be viewed.
    pub(super) fn set_platform_policy(&mut self, tools: ToolPolicy) {
        let platform = self.platform.map(|id| self.names.name(id));
        if platform.is_some_and(|slug| self.orgs.contains_key(&slug)) {
            let policy = Resource::new(&PlatformDefinition { tools });
            self.resources.insert(Address::of_platform(), policy);
        }
    }

    fn insert(&mut self, org: &str, kind: Kind, name: &str, resource: Resource) {
        let address = Address { org: org.to_owned(), kind, name: name.to_owned() };
        self.resources.insert(address, resource);
    }
}

impl LiveOrg {
    /// Returns the binding with this name.
    pub(super) fn binding(&self, name: &str) -> Option<BindingId> {
        self.names.channels.id(name)
    }
}

/// The beginning of the names under which kept live values are stored, before an address.
pub(super) const KEPT_PREFIX: &str = "kept ";

/// Reads the live values that a person kept.
fn read_kept(stored: &BTreeMap<String, Value>) -> KeptFields {
    let kept = stored.iter().filter_map(|(name, value)| {
        let address: Address = name.strip_prefix(KEPT_PREFIX)?.parse().ok()?;
        let fields = value.as_object()?.clone();
        Some((address, fields.into_iter().collect()))
    });
    kept.collect()
}

/// Reads what was applied. A resource that this version does not know is left out: then
/// its next change counts as one of the file.
fn read_applied(stored: BTreeMap<String, Value>) -> Resources {
    let known = stored.into_iter().filter_map(|(address, value)| {
        let address: Address = address.parse().ok()?;
        let resource = Resource::parse(address.kind, &value).ok()?;
        Some((address, resource))
    });
    known.collect()
}

fn table(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).unwrap_or_default()
}
