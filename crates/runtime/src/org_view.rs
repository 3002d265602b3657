//! The configuration of an org and its agents, cached until any of it changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection};
use ostler_domain::id::{AgentId, OrgId, RecordId};
use ostler_domain::org::layer::{BusinessLayer, BusinessPosition};
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::scope::ToolScope;
use ostler_domain::soul::{Soul, soul_owner};
use ostler_domain::tool::Integration;
use ostler_store::{OrgBinding, PolicyVersion, Store, StoreError};

use crate::records::decode;

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
    /// The connected services.
    pub integrations: BTreeSet<Integration>,
    pub bindings: Vec<OrgBinding>,
    pub settings: OrgSettings,
    /// Resolved tool scopes by agent and channel, for sessions without failures.
    pub(crate) scopes: Mutex<HashMap<(AgentId, String), Arc<ToolScope>>>,
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
    pub async fn load(store: &Store, id: OrgId) -> Result<Self, StoreError> {
        let of = store.org(id);
        let org = of.org().await?;
        let parent = match org.place {
            OrgPlace::SubOrg { parent } => Some(store.org(parent).org().await?),
            OrgPlace::Platform | OrgPlace::TopLevel => None,
        };
        let mut agents = Vec::new();
        let mut souls: BTreeMap<AgentId, (u32, Soul)> = BTreeMap::new();
        for agent in of.agents().await? {
            let owner = soul_owner(&agent);
            if let std::collections::btree_map::Entry::Vacant(free) = souls.entry(owner) {
                let newest = of.soul_versions(owner).await?.pop();
                free.insert(newest.map_or((0, Soul::default()), |one| (one.version, one.soul)));
            }
            let (soul_version, soul) = souls.get(&owner).cloned().unwrap_or_default();
            let version = of.agent_version(agent.id).await?.version;
            let position = BusinessPosition::of(&org, &agent.subtype);
            agents.push(AgentView { agent, version, position, soul, soul_version });
        }
        let settings = match of.record(SETTINGS, settings_record(id)).await {
            Ok(record) => decode("settings", &record.data)
                .map_err(|unreadable| StoreError::Backend(unreadable.to_string()))?,
            Err(StoreError::NotFound(_)) => OrgSettings::default(),
            Err(other) => return Err(other),
        };
        let platform_agent = platform_agent(store, &org, &agents).await?;
        Ok(Self {
            parent,
            policy: of.policy().await?,
            platform_policy: store.platform_policy().await?,
            platform: platform(store, agents.iter().chain(&platform_agent)).await?,
            platform_agent,
            agents,
            integrations: of.connected_services().await?,
            bindings: of.bindings(None, MAX_BINDINGS).await?,
            settings,
            org,
            scopes: Mutex::default(),
        })
    }
}

/// Returns the platform org if it pays for one of the agents.
async fn platform(
    store: &Store,
    mut agents: impl Iterator<Item = &AgentView>,
) -> Result<Option<OrgId>, StoreError> {
    if agents.all(|one| one.agent.protection == Protection::Open) {
        return Ok(None);
    }
    find_platform(store).await
}

async fn find_platform(store: &Store) -> Result<Option<OrgId>, StoreError> {
    let orgs = store.orgs().await?;
    Ok(orgs.iter().find(|org| org.place == OrgPlace::Platform).map(|org| org.id))
}

/// Returns the platform's system agent for an org in which nobody can answer. It works under
/// the org's policy and on the platform's account, and is guarded like every agent that
/// talks to end customers.
async fn platform_agent(
    store: &Store,
    org: &Org,
    agents: &[AgentView],
) -> Result<Option<AgentView>, StoreError> {
    let makes_workers = |one: &AgentView| {
        one.agent.kind == AgentKind::Template && one.agent.status == AgentStatus::Active
    };
    if agents.iter().any(|one| one.agent.receives_messages() || makes_workers(one)) {
        return Ok(None);
    }
    let Some(platform) = find_platform(store).await?.filter(|id| *id != org.id) else {
        return Ok(None);
    };
    let of = store.org(platform);
    let system = of.agents().await?.into_iter().filter(|agent| {
        agent.subtype == Subtype::System
            && agent.protection == Protection::Protected
            && agent.kind == AgentKind::Conversational
            && agent.receives_messages()
    });
    let Some(agent) = system.min_by_key(|agent| (agent.created_at, agent.id)) else {
        return Ok(None);
    };
    let newest = of.soul_versions(soul_owner(&agent)).await?.pop();
    let (soul_version, soul) = newest.map_or((0, Soul::default()), |one| (one.version, one.soul));
    let version = of.agent_version(agent.id).await?.version;
    let position = BusinessPosition {
        guardrail_layer: BusinessLayer::EndCustomer,
        ..BusinessPosition::of(org, &agent.subtype)
    };
    let agent = Agent { org: org.id, ..agent };
    Ok(Some(AgentView { agent, version, position, soul, soul_version }))
}

/// The cached configuration of many orgs.
#[derive(Debug, Default)]
pub(crate) struct OrgViewCache(Mutex<HashMap<OrgId, (i64, Arc<OrgView>)>>);

impl OrgViewCache {
    /// Returns the view of an org at a version of the configuration.
    pub(crate) async fn get(
        &self,
        store: &Store,
        org: OrgId,
        version: i64,
    ) -> Result<Arc<OrgView>, StoreError> {
        let known =
            self.lock().get(&org).filter(|(at, _)| *at == version).map(|(_, view)| view.clone());
        if let Some(view) = known {
            return Ok(view);
        }
        // The loaded view may be newer than the version, never older. Then it is loaded once
        // more for the newer version.
        let view = Arc::new(OrgView::load(store, org).await?);
        let mut all = self.lock();
        if all.len() >= MAX_CACHED_ORGS {
            all.clear();
        }
        all.insert(org, (version, view.clone()));
        Ok(view)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<OrgId, (i64, Arc<OrgView>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
