//! The configuration of an org and its agents, cached until any of it changes.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection};
use ostler_domain::id::{AgentId, OrgId, RecordId};
use ostler_domain::org::Org;
use ostler_domain::org::layer::{BusinessLayer, BusinessPosition};
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::scope::ToolScope;
use ostler_domain::soul::Soul;
use ostler_domain::tool::org_tools::OrgToolDefinitions;
use ostler_domain::tool::{Audience, Integration};
use ostler_engine::tool::{OrgToolList, Tool, ToolSet, ToolSetError, UnavailableTool};
use ostler_store::{
    AgentConfig, ConfigVersion, OrgBinding, OrgConfig, PolicyVersion, Store, StoreError,
};

use crate::records::decode;
use crate::toolbox::Toolbox;

/// The record kind of an org's settings.
pub const SETTINGS: &str = "settings";
/// The maximum number of bindings that are loaded.
const MAX_BINDINGS: u32 = 200;
/// How many orgs are cached.
const MAX_CACHED_ORGS: usize = 10_000;

/// Returns the id of the record with an org's settings.
pub fn settings_record(org: OrgId) -> RecordId {
    RecordId::from_u128(org.as_u128())
}

/// An agent with its position and its soul.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentView {
    pub agent: Agent,
    /// The version of its configuration.
    pub version: u32,
    /// Where it stands.
    pub position: BusinessPosition,
    pub soul: Soul,
    pub soul_version: u32,
}

/// What a resolved tool scope depends on besides the view: agent, channel and audience.
type ScopeKey = (AgentId, String, Audience);

/// The configuration of an org and its agents.
#[derive(Debug)]
pub struct OrgView {
    pub org: Org,
    pub parent: Option<Org>,
    pub agents: Vec<AgentView>,
    /// The platform's own agent, if the org has nobody who can answer.
    pub platform_agent: Option<AgentView>,
    pub policy: PolicyVersion,
    pub platform_policy: PolicyVersion,
    /// The platform org, if it pays for one of the agents.
    pub platform: Option<OrgId>,
    /// The platform org, if the installation has one.
    pub platform_org: Option<OrgId>,
    /// The connected services.
    pub integrations: BTreeSet<Integration>,
    pub bindings: Vec<OrgBinding>,
    pub settings: OrgSettings,
    /// All tools that the org's agents can have: the built-in ones and its own.
    pub tools: Arc<ToolSet>,
    /// The org's own tools that cannot be used at the moment.
    pub unavailable_tools: Vec<UnavailableTool>,
    definitions: Arc<OrgToolDefinitions>,
    /// The org's own tools, as they were when the view was loaded.
    org_tools: Arc<OrgToolList>,
    /// Resolved tool scopes, for sessions without failures.
    pub(crate) scopes: Mutex<HashMap<ScopeKey, Arc<ToolScope>>>,
}

impl OrgView {
    /// Returns an agent of the org, or the platform's agent that substitutes for it.
    pub fn agent(&self, id: AgentId) -> Option<&AgentView> {
        self.agents.iter().chain(&self.platform_agent).find(|one| one.agent.id == id)
    }

    /// Returns an agent by id, slug or subtype. Of several agents of a subtype, it is the
    /// oldest one that takes messages.
    pub fn find_agent(&self, name: &str) -> Option<&AgentView> {
        let name = name.trim();
        let by_id = name.parse().ok().and_then(|id| self.agent(id));
        let by_slug = || self.agents.iter().find(|one| one.agent.slug == name);
        let by_subtype = || {
            let of = self.agents.iter().filter(|one| one.agent.subtype.to_string() == name);
            of.filter(|one| one.agent.receives_messages()).min_by_key(|one| one.agent.created_at)
        };
        by_id.or_else(by_slug).or_else(by_subtype)
    }

    /// Returns the names of the agent's colleagues that take messages.
    pub fn colleagues(&self, of: AgentId) -> Vec<&str> {
        let others = self.agents.iter().filter(|one| one.agent.id != of);
        let active = others.filter(|one| one.agent.receives_messages());
        active.map(|one| one.agent.display_name.as_str()).collect()
    }

    /// Loads the configuration of an org.
    pub async fn load(store: &Store, toolbox: &Toolbox, id: OrgId) -> Result<Self, StoreError> {
        let config = store.org(id).config(MAX_BINDINGS).await?;
        let shared = store.shared_config(config.org.place).await?;
        let OrgConfig { org, policy, integrations, bindings, .. } = config;
        let agents: Vec<_> =
            config.agents.into_iter().map(|one| AgentView::new(&org, one)).collect();
        let settings = match config.settings {
            Some(data) => decode("settings", &data)
                .map_err(|unreadable| StoreError::Backend(unreadable.to_string()))?,
            None => OrgSettings::default(),
        };
        let other_platform = shared.platform.filter(|platform| *platform != id);
        let platform_agent = match other_platform {
            Some(platform) if !has_somebody(&agents) => {
                platform_agent(store, &org, platform).await?
            }
            _ => None,
        };
        let mut all = agents.iter().chain(&platform_agent);
        let platform_pays = all.any(|one| one.agent.protection != Protection::Open);
        let (payment_provider, identity_check) =
            (settings.payment_provider.clone(), settings.identity_check.clone());
        let definitions = OrgToolDefinitions { payment_provider, identity_check, ..config.tools };
        let definitions = Arc::new(definitions);
        let org_tools = toolbox.org_tools(id, &definitions).await;
        let (tools, unavailable_tools) = merge_tools(&toolbox.built_in, &org_tools);
        Ok(Self {
            parent: shared.parent,
            policy,
            platform_policy: shared.platform_policy,
            platform: shared.platform.filter(|_| platform_pays),
            platform_org: shared.platform,
            platform_agent,
            agents,
            integrations,
            bindings,
            settings,
            tools,
            unavailable_tools,
            definitions,
            org_tools,
            org,
            scopes: Mutex::default(),
        })
    }
}

/// Returns the tools of an org: the built-in ones and its own. A tool of its own that has the
/// name of another tool, or a schema that cannot be used, is unavailable.
fn merge_tools(
    built_in: &Arc<ToolSet>,
    org_tools: &OrgToolList,
) -> (Arc<ToolSet>, Vec<UnavailableTool>) {
    let mut unavailable = org_tools.unavailable.clone();
    if org_tools.tools.is_empty() && org_tools.replacements.is_empty() {
        return (built_in.clone(), unavailable);
    }
    let mut tools = ToolSet::clone(built_in);
    let mut note_error = |tool: &Arc<dyn Tool>, added: Result<(), ToolSetError>| {
        if let Err(error) = added {
            let name = tool.definition().spec.name.to_string();
            unavailable.push(UnavailableTool { name, reason: error.to_string() });
        }
    };
    for tool in &org_tools.tools {
        note_error(tool, tools.add(tool.clone()));
    }
    for tool in &org_tools.replacements {
        note_error(tool, tools.replace(tool.clone()));
    }
    (Arc::new(tools), unavailable)
}

impl AgentView {
    pub(crate) fn new(org: &Org, config: AgentConfig) -> Self {
        let AgentConfig { agent, version, soul } = config;
        let position = BusinessPosition::of(org, &agent.subtype);
        let (soul_version, soul) =
            soul.map_or((0, Soul::default()), |newest| (newest.version, newest.soul));
        Self { agent, version, position, soul, soul_version }
    }
}

/// Returns whether an agent takes messages, or a template can make one that does.
fn has_somebody(agents: &[AgentView]) -> bool {
    let makes_workers = |one: &AgentView| {
        one.agent.kind == AgentKind::Template && one.agent.status == AgentStatus::Active
    };
    agents.iter().any(|one| one.agent.receives_messages() || makes_workers(one))
}

/// Returns the platform's system agent for an org in which nobody can answer. It works under
/// the org's policy and on the platform's account, and is guarded like every agent that
/// talks to end customers.
async fn platform_agent(
    store: &Store,
    org: &Org,
    platform: OrgId,
) -> Result<Option<AgentView>, StoreError> {
    let system = store.org(platform).agent_configs().await?.into_iter().filter(|one| {
        one.agent.subtype == Subtype::System
            && one.agent.protection == Protection::Protected
            && one.agent.kind == AgentKind::Conversational
            && one.agent.receives_messages()
    });
    let oldest = system.min_by_key(|one| (one.agent.created_at, one.agent.id));
    Ok(oldest.map(|config| {
        let mut view = AgentView::new(org, config);
        view.position.guardrail_layer = BusinessLayer::EndCustomer;
        view.agent.org = org.id;
        view
    }))
}

/// The configuration of orgs, cached. A process has one; clones share it.
#[derive(Debug, Clone)]
pub struct OrgViews {
    store: Store,
    toolbox: Toolbox,
    cached: Arc<Mutex<CachedViews>>,
}

/// Views with the versions that they were loaded for.
type CachedViews = HashMap<OrgId, (ConfigVersion, Arc<OrgView>)>;

impl OrgViews {
    /// Creates an empty cache.
    pub fn new(store: Store, toolbox: Toolbox) -> Self {
        Self { store, toolbox, cached: Arc::default() }
    }

    /// Returns the store whose orgs these are.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) const fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// Returns the current view of an org.
    pub async fn current(&self, org: OrgId) -> Result<Arc<OrgView>, StoreError> {
        self.at(org, self.store.org(org).config_version().await?).await
    }

    /// Returns the view of an org at a version of its configuration.
    pub(crate) async fn at(
        &self,
        org: OrgId,
        version: ConfigVersion,
    ) -> Result<Arc<OrgView>, StoreError> {
        let known = self.lock().get(&org).filter(|(at, _)| *at == version).cloned();
        if let Some((_, view)) = known
            && self.has_current_tools(&view).await
        {
            return Ok(view);
        }
        // The loaded view may be newer than the version, never older. Then it is loaded once
        // more for the newer version.
        let view = Arc::new(OrgView::load(&self.store, &self.toolbox, org).await?);
        let mut all = self.lock();
        if all.len() >= MAX_CACHED_ORGS {
            all.clear();
        }
        all.insert(org, (version, view.clone()));
        Ok(view)
    }

    /// Returns whether the org still has the tools of a view. Those of MCP servers change
    /// without a change of the configuration.
    async fn has_current_tools(&self, view: &OrgView) -> bool {
        if view.definitions.is_empty() {
            return true;
        }
        let current = self.toolbox.org_tools(view.org.id, &view.definitions).await;
        Arc::ptr_eq(&current, &view.org_tools)
    }

    fn lock(&self) -> MutexGuard<'_, CachedViews> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
