//! The whole configuration of an org, read at once, and its version.

use std::collections::{BTreeSet, HashMap};

use ostler_domain::agent::Agent;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::soul::{SoulVersion, soul_owner};
use ostler_domain::tool::Integration;
use ostler_domain::tool::org_tools::OrgToolDefinitions;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::delivery::bindings;
use crate::error::Result;
use crate::tenancy::policies::PolicyOwner;
use crate::tenancy::{integrations, org_tools, orgs};
use crate::{OrgBinding, OrgStore, PolicyVersion, Store};

/// An agent with its version and the newest version of its soul.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    pub agent: Agent,
    pub version: u32,
    /// `None` if no soul was stored yet.
    pub soul: Option<SoulVersion>,
}

/// The configuration of an org.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgConfig {
    pub org: Org,
    /// Ordered by id.
    pub agents: Vec<AgentConfig>,
    pub policy: PolicyVersion,
    /// The record of kind `settings` with the org's own id, as JSON.
    pub settings: Option<String>,
    /// The connected services.
    pub integrations: BTreeSet<Integration>,
    pub bindings: Vec<OrgBinding>,
    /// The HTTP tools and MCP servers of the org.
    pub tools: OrgToolDefinitions,
}

/// What an org's configuration takes from other orgs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedConfig {
    pub parent: Option<Org>,
    pub platform: Option<OrgId>,
    pub platform_policy: PolicyVersion,
}

/// The version of an org's configuration. Versions can be compared for equality only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConfigVersion {
    own: i64,
    /// Grows with what all orgs share.
    shared: i64,
}

impl ConfigVersion {
    /// Returns the version of what is the org's own.
    pub(super) const fn own(self) -> i64 {
        self.own
    }
}

/// The versions of the configuration and of the documents of an org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OrgVersions {
    pub(crate) config: ConfigVersion,
    pub(crate) documents: i64,
}

const AGENTS: Sql = sql!("SELECT data, version FROM agents WHERE org = ?1 ORDER BY id");
const NEWEST_SOULS: Sql = sql!(
    "SELECT s.owner, s.data FROM soul_versions s WHERE s.org = ?1 AND s.version =
       (SELECT max(n.version) FROM soul_versions n WHERE n.org = s.org AND n.owner = s.owner)"
);
const SETTINGS: Sql =
    sql!("SELECT data FROM records WHERE org = ?1 AND kind = 'settings' AND id = ?1");
const PLATFORM: Sql = Sql {
    sqlite: "SELECT id FROM orgs WHERE instr(data, '\"place\":\"platform\"') > 0 LIMIT 1",
    postgres: "SELECT id FROM orgs WHERE strpos(data, '\"place\":\"platform\"') > 0 LIMIT 1",
};
/// The second parameter is the id of what all orgs share.
pub(crate) const VERSIONS: Sql =
    sql!("SELECT id, config, documents FROM config_versions WHERE id IN (?1, ?2)");
/// The id of the row that grows with what all orgs share.
const SHARED: OrgId = OrgId::from_u128(0);

impl OrgStore<'_> {
    /// Returns the configuration of the org, with up to `max_bindings` bindings.
    pub fn config(&self, max_bindings: u32) -> StoreFuture<OrgConfig> {
        let org = self.org;
        self.read(move |tx| {
            let settings = tx.first(&SETTINGS, &[org.into()])?;
            Ok(OrgConfig {
                org: orgs::get(tx, org)?,
                agents: agents(tx, org)?,
                policy: PolicyOwner::Org(org).newest(tx)?,
                settings: settings.map(|row| row.text(0).map(str::to_owned)).transpose()?,
                integrations: integrations::connected(tx, org)?,
                bindings: bindings::list(tx, org, BindingId::from_u128(0), max_bindings)?,
                tools: org_tools::list(tx, org)?.into_iter().collect(),
            })
        })
    }

    /// Returns the agents of the org, ordered by id.
    pub fn agent_configs(&self) -> StoreFuture<Vec<AgentConfig>> {
        let org = self.org;
        self.read(move |tx| agents(tx, org))
    }

    /// Returns the version of the org's configuration.
    pub fn config_version(&self) -> StoreFuture<ConfigVersion> {
        let org = self.org;
        self.read_hot(
            move |tx| Ok(read_versions(&tx.query(&VERSIONS, &versions_key(org))?)?.config),
        )
    }
}

impl Store {
    /// Returns what an org's configuration takes from other orgs.
    pub fn shared_config(&self, place: OrgPlace) -> StoreFuture<SharedConfig> {
        self.read_all_orgs(move |tx| {
            let parent = match place {
                OrgPlace::SubOrg { parent } => Some(orgs::get(tx, parent)?),
                OrgPlace::Platform | OrgPlace::TopLevel => None,
            };
            let platform = find_platform(tx)?;
            let platform_policy = PolicyOwner::Platform.newest(tx)?;
            Ok(SharedConfig { parent, platform, platform_policy })
        })
    }
}

/// Returns the platform, if there is one, inside a transaction.
pub(crate) fn find_platform(tx: &Tx) -> Result<Option<OrgId>> {
    tx.first(&PLATFORM, &[])?.map(|row| row.id(0)).transpose()
}

/// Returns the agents of an org with their souls, inside a transaction.
pub(super) fn agents(tx: &Tx, org: OrgId) -> Result<Vec<AgentConfig>> {
    let mut souls: HashMap<AgentId, SoulVersion> = HashMap::new();
    for row in tx.query(&NEWEST_SOULS, &[org.into()])? {
        souls.insert(row.id(0)?, row.json(1, "soul")?);
    }
    let config = |row: &Row| {
        let agent: Agent = row.json(0, "agent")?;
        let soul = souls.get(&soul_owner(&agent)).cloned();
        Ok(AgentConfig { agent, version: row.version(1)?, soul })
    };
    tx.query(&AGENTS, &[org.into()])?.iter().map(config).collect()
}

/// Returns the parameters of [`VERSIONS`].
pub(crate) fn versions_key(org: OrgId) -> [Value; 2] {
    [org.into(), SHARED.into()]
}

/// Reads the rows of [`VERSIONS`].
pub(crate) fn read_versions(rows: &[Row]) -> Result<OrgVersions> {
    let mut versions = OrgVersions::default();
    for row in rows {
        if row.id::<OrgId>(0)? == SHARED {
            versions.config.shared = row.int(1)?;
        } else {
            versions.config.own = row.int(1)?;
            versions.documents = row.int(2)?;
        }
    }
    Ok(versions)
}
