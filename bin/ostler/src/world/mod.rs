//! World files: reading them from disk, and their content as values of the domain for
//! commands that look at a file without an installation.

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use ostler_domain::agent::Agent;
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::org::layer::{BusinessLayer, BusinessPosition};
use ostler_domain::org::tree::OrgTree;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, Integration, ToolSpec, Trust, catalogue};
use ostler_runtime::operations::world::expression_violations;
use ostler_world::file::{ParsedFiles, parse};
use ostler_world::rules::{KnownNames, check};
use ostler_world::spec::{
    AgentDefinition, HttpToolDefinition, IntegrationDefinition, McpServerDefinition, NameMap,
    Names, OrgDefinition, PlatformDefinition, SessionDefinition, Spec,
};
use ostler_world::{Address, Kind, Resource, Resources, unknown_name};
use serde_json::json;

pub(crate) use files::{in_file_order, read_files, report, toml_files};

/// The sample world that is compiled into the program.
pub(crate) const SAMPLE: &str = include_str!("../../../../examples/harbour.toml");

/// The name of the sample world in errors.
pub(crate) const SAMPLE_NAME: &str = "examples/harbour.toml";

/// The content of a world file.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) platform: ToolPolicy,
    pub(crate) orgs: OrgTree,
    pub(crate) org_tools: BTreeMap<OrgId, OrgToolSettings>,
    pub(crate) agents: Vec<WorldAgent>,
    pub(crate) sessions: Vec<WorldSession>,
    /// Where its resources are written.
    pub(crate) files: ParsedFiles,
}

/// The settings of an org that concern tools.
#[derive(Debug)]
pub(crate) struct OrgToolSettings {
    pub(crate) policy: ToolPolicy,
    pub(crate) integrations: BTreeSet<Integration>,
    pub(crate) team_coordination: bool,
    /// Its own HTTP tools.
    pub(crate) http_tools: Vec<ToolSpec>,
    /// The names of its MCP servers.
    pub(crate) mcp_servers: Vec<String>,
}

/// An agent with its business layer.
#[derive(Debug)]
pub(crate) struct WorldAgent {
    pub(crate) agent: Agent,
    pub(crate) position: BusinessPosition,
}

impl WorldAgent {
    /// Returns for whom the agent works, as far as its place in the org says.
    pub(crate) const fn usual_audience(&self) -> Audience {
        match self.position.guardrail_layer {
            BusinessLayer::EndCustomer => Audience::Customer,
            _ => Audience::Staff,
        }
    }
}

/// The state of a session that concerns tools.
#[derive(Debug)]
pub(crate) struct WorldSession {
    pub(crate) name: String,
    pub(crate) org: OrgId,
    pub(crate) tools: SessionTools,
    pub(crate) errors: ErrorState,
    pub(crate) budget: SessionBudget,
    pub(crate) trust: Trust,
}

/// The most failures of a tool in a session.
const MAX_FAILURES: u32 = 100;

impl World {
    /// Reads a world file and checks it.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let files = read_files(&[path])?;
        Self::parse(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    }

    /// Parses world files and checks them.
    pub(crate) fn parse<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> anyhow::Result<Self> {
        let parsed = parse(files)?;
        let mut violations =
            check(&Resources::new(), &parsed.resources, parsed.resources.keys(), &known_names());
        violations.extend(expression_violations(&parsed.resources, parsed.resources.keys()));
        if !violations.is_empty() {
            return Err(report(&parsed, &violations));
        }
        let order = parsed.in_file_order().into_iter();
        let resources = order.filter_map(|address| Some((address, parsed.resources.get(address)?)));
        let world = Self::build(&resources.collect::<Vec<_>>(), &parsed.sessions)?;
        Ok(Self { files: parsed, ..world })
    }

    /// Returns the world of live resources. A parent that may not be viewed is in it by its
    /// name only.
    pub(crate) fn of_resources(resources: &Resources) -> anyhow::Result<Self> {
        let orgs = resources.iter().filter(|(address, _)| address.kind == Kind::Org);
        let parents = orgs.filter_map(|(_, org)| org.value()["parent"].as_str());
        let hidden = parents.map(Address::of_org).filter(|one| !resources.contains_key(one));
        let hidden: Resources = hidden
            .map(|address| {
                let fields = json!({"slug": address.name, "name": address.name});
                Ok((address, Resource::parse(Kind::Org, &fields)?))
            })
            .collect::<anyhow::Result<_>>()?;
        Self::build(&hidden.iter().chain(resources).collect::<Vec<_>>(), &[])
    }

    fn build(
        resources: &[(&Address, &Resource)],
        sessions: &[SessionDefinition],
    ) -> anyhow::Result<Self> {
        let mut org_names = NameMap::default();
        let orgs: Vec<OrgDefinition> = specs(resources);
        for (spec, id) in orgs.iter().zip(1..) {
            org_names.insert(&spec.slug, OrgId::from_u128(id));
        }
        let mut names = Names { orgs: Arc::new(org_names), ..Names::default() };
        let mut tree = Vec::new();
        let mut org_tools = BTreeMap::new();
        let integrations: Vec<IntegrationDefinition> = specs(resources);
        let http: Vec<HttpToolDefinition> = specs(resources);
        let servers: Vec<McpServerDefinition> = specs(resources);
        for spec in &orgs {
            let id = names.orgs.find("org", &spec.slug)?;
            tree.push(spec.to_org(id, &names)?);
            let connected = integrations.iter().filter(|one| one.org == spec.slug && one.connected);
            let own = |one: &&HttpToolDefinition| one.org == spec.slug;
            let settings = OrgToolSettings {
                policy: spec.tools.clone(),
                integrations: connected.map(|one| Integration::new(&one.service)).collect(),
                team_coordination: spec.settings.team.is_some(),
                http_tools: http.iter().filter(own).map(|one| one.tool.spec()).collect(),
                mcp_servers: servers
                    .iter()
                    .filter(|one| one.org == spec.slug)
                    .map(|one| one.server.name.to_string())
                    .collect(),
            };
            org_tools.insert(id, settings);
        }
        let platform: Vec<PlatformDefinition> = specs(resources);
        let orgs = OrgTree::new(tree)?;
        let agents = agents(resources, &orgs, &mut names)?;
        let sessions =
            sessions.iter().map(|spec| session(spec, &orgs)).collect::<Result<_, _>>()?;
        let platform = platform.into_iter().next().unwrap_or_default().tools;
        let files = ParsedFiles::default();
        Ok(Self { platform, orgs, org_tools, agents, sessions, files })
    }

    /// Returns the agents of an org, in the order of the file.
    pub(crate) fn agents_of(&self, org: &Org) -> impl Iterator<Item = &WorldAgent> {
        let id = org.id;
        self.agents.iter().filter(move |agent| agent.agent.org == id)
    }
}

/// Returns the names that this build knows.
fn known_names() -> KnownNames {
    let tools = catalogue::built_in();
    KnownNames {
        services: tools
            .iter()
            .flat_map(|tool| &tool.integrations)
            .map(ToString::to_string)
            .collect(),
        tools: tools.iter().map(|tool| tool.name.to_string()).collect(),
    }
}

/// Returns the resources of a kind, in their order.
fn specs<S: Spec>(resources: &[(&Address, &Resource)]) -> Vec<S> {
    let of_kind = resources.iter().filter(|(address, _)| address.kind == S::KIND);
    of_kind.filter_map(|(_, resource)| resource.spec().ok()).collect()
}

fn agents(
    resources: &[(&Address, &Resource)],
    orgs: &OrgTree,
    names: &mut Names,
) -> anyhow::Result<Vec<WorldAgent>> {
    let specs: Vec<AgentDefinition> = specs(resources);
    for (spec, id) in specs.iter().zip(1..) {
        names.agents.insert(&spec.slug, AgentId::from_u128(id));
    }
    let agent = |(spec, id): (&AgentDefinition, u128)| {
        let org =
            orgs.by_slug(&spec.org).ok_or_else(|| anyhow::anyhow!("no org `{}`", spec.org))?;
        let position = BusinessPosition::of(org, &spec.role());
        let created_at = Timestamp::from_millis(0);
        let agent = spec.to_agent(AgentId::from_u128(id), org.id, created_at, names)?;
        Ok(WorldAgent { agent, position })
    };
    specs.iter().zip(1..).map(agent).collect()
}

fn session(spec: &SessionDefinition, orgs: &OrgTree) -> anyhow::Result<WorldSession> {
    let known = orgs.iter().map(|org| org.slug.as_str());
    let org = orgs.by_slug(&spec.org);
    let org = org.ok_or_else(|| anyhow::anyhow!(unknown_name("org", &spec.org, known)))?;
    let mut errors = ErrorState::default();
    for (tool, failures) in &spec.failures {
        anyhow::ensure!(
            *failures <= MAX_FAILURES,
            "session {}: a tool fails at most {MAX_FAILURES} times in a session here",
            spec.name
        );
        for _ in 0..*failures {
            errors.record_failure(tool, ErrorPolicy::default(), Timestamp::from_millis(0));
        }
    }
    let budget = SessionBudget { spent: spec.spent, ..SessionBudget::default() };
    Ok(WorldSession {
        name: spec.name.clone(),
        org: org.id,
        tools: SessionTools::of(
            spec.channel.clone(),
            spec.audience,
            &errors,
            budget.spending_mode(),
        ),
        errors,
        budget,
        trust: if spec.untrusted { Trust::Untrusted } else { Trust::Trusted },
    })
}

/// Returns the name of an org's level in the tree.
pub(crate) const fn place_name(org: &Org) -> &'static str {
    match org.place {
        OrgPlace::Platform => "platform",
        OrgPlace::TopLevel => "agency",
        OrgPlace::SubOrg { .. } => "client",
    }
}
