//! What an org's agents are configured by, read once and remembered until any of
//! it changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection};
use ostler_domain::id::{AgentId, OrgId, RecordId};
use ostler_domain::org::layer::{BusinessLayer, Standing};
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::org::{Org, Place};
use ostler_domain::scope::ToolScope;
use ostler_domain::soul::{Soul, soul_owner};
use ostler_domain::tool::Integration;
use ostler_store::{OrgBinding, PolicyVersion, Store, StoreError};

use crate::talk::read;

/// The kind of record that an org's settings are.
pub const SETTINGS: &str = "settings";
/// The most bindings of an org that are looked at.
const BINDINGS: u32 = 200;
/// How many orgs are remembered.
const REMEMBERED: usize = 10_000;

/// The record that holds an org's settings.
pub fn settings_record(org: OrgId) -> RecordId {
    RecordId::from_u128(org.as_u128())
}

/// An agent, ready to work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentView {
    /// The agent.
    pub agent: Agent,
    /// The version of its configuration.
    pub version: u32,
    /// Where it stands.
    pub standing: Standing,
    /// Its soul.
    pub soul: Soul,
    /// The version of that.
    pub soul_version: u32,
}

/// What an org's agents are configured by.
#[derive(Debug)]
pub struct OrgView {
    /// The org.
    pub org: Org,
    /// The org above.
    pub parent: Option<Org>,
    /// Its agents.
    pub agents: Vec<AgentView>,
    /// The platform's own agent, which answers where the org has nobody.
    pub guest: Option<AgentView>,
    /// Its tool policy.
    pub policy: PolicyVersion,
    /// The platform's tool policy.
    pub platform_policy: PolicyVersion,
    /// The platform, if it pays for one of the agents.
    pub platform: Option<OrgId>,
    /// The services it has connected.
    pub integrations: BTreeSet<Integration>,
    /// Its bindings.
    pub bindings: Vec<OrgBinding>,
    /// What it has set.
    pub settings: OrgSettings,
    /// Scopes that were resolved before, for sessions in which nothing is wrong.
    pub(crate) scopes: Mutex<HashMap<(AgentId, String), Arc<ToolScope>>>,
}

impl OrgView {
    /// An agent of the org, or the one that stands in for its agents.
    pub fn agent(&self, id: AgentId) -> Option<&AgentView> {
        self.agents.iter().chain(&self.guest).find(|one| one.agent.id == id)
    }

    /// An agent by id, slug or subtype; of several of a subtype the oldest that
    /// takes messages.
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

    /// The names of those who work beside an agent.
    pub fn colleagues(&self, of: AgentId) -> Vec<&str> {
        let others = self.agents.iter().filter(|one| one.agent.id != of);
        let active = others.filter(|one| one.agent.receives_messages());
        active.map(|one| one.agent.display_name.as_str()).collect()
    }

    /// Reads what an org's agents are configured by.
    pub async fn load(store: &Store, id: OrgId) -> Result<Self, StoreError> {
        let of = store.org(id);
        let org = of.org().await?;
        let parent = match org.place {
            Place::SubOrg { parent } => Some(store.org(parent).org().await?),
            Place::Platform | Place::TopLevel => None,
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
            let standing = Standing::of(&org, &agent.subtype);
            agents.push(AgentView { agent, version, standing, soul, soul_version });
        }
        let settings = match of.record(SETTINGS, settings_record(id)).await {
            Ok(record) => read("settings", &record.data)
                .map_err(|unreadable| StoreError::Backend(unreadable.to_string()))?,
            Err(StoreError::NotFound(_)) => OrgSettings::default(),
            Err(other) => return Err(other),
        };
        let guest = guest(store, &org, &agents).await?;
        Ok(Self {
            parent,
            policy: of.policy().await?,
            platform_policy: store.platform_policy().await?,
            platform: platform(store, agents.iter().chain(&guest)).await?,
            guest,
            agents,
            integrations: of.connected_services().await?,
            bindings: of.bindings(None, BINDINGS).await?,
            settings,
            org,
            scopes: Mutex::default(),
        })
    }
}

/// The platform, which is looked for only where it pays for somebody.
async fn platform(
    store: &Store,
    mut agents: impl Iterator<Item = &AgentView>,
) -> Result<Option<OrgId>, StoreError> {
    if agents.all(|one| one.agent.protection == Protection::Open) {
        return Ok(None);
    }
    the_platform(store).await
}

async fn the_platform(store: &Store) -> Result<Option<OrgId>, StoreError> {
    let orgs = store.orgs().await?;
    Ok(orgs.iter().find(|org| org.place == Place::Platform).map(|org| org.id))
}

/// The platform's system agent, for an org in which nobody can answer. It works
/// for the org as a guest: under the org's policy, on the platform's account, and
/// guarded like everybody who talks to end customers.
async fn guest(
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
    let Some(platform) = the_platform(store).await?.filter(|id| *id != org.id) else {
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
    let standing =
        Standing { guarded_as: BusinessLayer::EndCustomer, ..Standing::of(org, &agent.subtype) };
    let agent = Agent { org: org.id, ..agent };
    Ok(Some(AgentView { agent, version, standing, soul, soul_version }))
}

/// The views of many orgs.
#[derive(Debug, Default)]
pub(crate) struct Views(Mutex<HashMap<OrgId, (i64, Arc<OrgView>)>>);

impl Views {
    /// The view of an org, as it is at this stamp of the configuration.
    pub(crate) async fn get(
        &self,
        store: &Store,
        org: OrgId,
        stamp: i64,
    ) -> Result<Arc<OrgView>, StoreError> {
        let known =
            self.lock().get(&org).filter(|(at, _)| *at == stamp).map(|(_, view)| view.clone());
        if let Some(view) = known {
            return Ok(view);
        }
        // What is read may be newer than the stamp, never older: then it is
        // read once more, and no harm is done.
        let view = Arc::new(OrgView::load(store, org).await?);
        let mut all = self.lock();
        if all.len() >= REMEMBERED {
            all.clear();
        }
        all.insert(org, (stamp, view.clone()));
        Ok(view)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<OrgId, (i64, Arc<OrgView>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
