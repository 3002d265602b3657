//! Tool policies of the platform and of orgs. Versions are immutable, so that a run
//! records by number which one applied. An agent's own policy is part of the agent
//! and versioned with it.

use ostler_domain::id::OrgId;
use ostler_domain::org::OrgPlace;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::time::Timestamp;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::tenancy::orgs::lock_org;
use crate::{OrgStore, Store};

/// A version of a tool policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyVersion {
    /// 0 is the initial policy, which removes nothing.
    pub version: u32,
    pub policy: ToolPolicy,
    /// `None` for version 0.
    pub saved_at: Option<Timestamp>,
}

const SAVE: Sql = sql!(
    "INSERT INTO tool_policies (org, policy_layer, version, data, saved_at)
     VALUES (?1, ?2, ?3, ?4, now_ms())"
);
const OF_ORG: Sql = sql!(
    "SELECT version, data, saved_at FROM tool_policies
     WHERE org = ?1 AND policy_layer = 'org' AND version <= ?2 ORDER BY version DESC LIMIT ?3"
);
const OF_PLATFORM: Sql = sql!(
    "SELECT version, data, saved_at FROM tool_policies
     WHERE policy_layer = 'platform' AND version <= ?1 ORDER BY version DESC LIMIT ?2"
);

impl Store {
    /// Returns the platform's policy, which applies to every org and is readable by
    /// all.
    pub async fn platform_policy(&self) -> Result<PolicyVersion> {
        self.read(ReadAt(PolicyOwner::Platform, u32::MAX)).await
    }

    /// Returns one version of the platform's policy.
    pub async fn platform_policy_at(&self, version: u32) -> Result<PolicyVersion> {
        require_version(version, self.read(ReadAt(PolicyOwner::Platform, version)).await?)
    }

    /// Returns the versions of the platform's policy up to `upto`, newest first.
    pub async fn platform_policies(&self, upto: u32, limit: u32) -> Result<Vec<PolicyVersion>> {
        self.read(History(PolicyOwner::Platform, upto, limit)).await
    }
}

impl OrgStore<'_> {
    /// Saves the org's policy as the version after `base_version` and returns its
    /// number. Fails with [`StoreError::Conflict`] if there is a newer version.
    pub async fn save_policy(&self, base_version: u32, policy: ToolPolicy) -> Result<u32> {
        let owner = PolicyOwner::Org(self.org);
        self.store.write(Save { org: self.org, owner, base_version, policy }).await
    }

    /// Saves the platform's policy like [`save_policy`](Self::save_policy); fails
    /// with [`StoreError::NotFound`] unless this is the platform's org.
    pub async fn save_platform_policy(&self, base_version: u32, policy: ToolPolicy) -> Result<u32> {
        let owner = PolicyOwner::Platform;
        self.store.write(Save { org: self.org, owner, base_version, policy }).await
    }

    /// Returns the org's policy.
    pub async fn policy(&self) -> Result<PolicyVersion> {
        self.store.read(ReadAt(PolicyOwner::Org(self.org), u32::MAX)).await
    }

    /// Returns one version of the org's policy.
    pub async fn policy_at(&self, version: u32) -> Result<PolicyVersion> {
        require_version(
            version,
            self.store.read(ReadAt(PolicyOwner::Org(self.org), version)).await?,
        )
    }

    /// Returns the versions of the org's policy up to `upto`, newest first.
    pub async fn policies(&self, upto: u32, limit: u32) -> Result<Vec<PolicyVersion>> {
        self.store.read(History(PolicyOwner::Org(self.org), upto, limit)).await
    }
}

/// The owner of a policy.
#[derive(Debug, Clone, Copy)]
enum PolicyOwner {
    Platform,
    Org(OrgId),
}

impl PolicyOwner {
    const fn policy_layer(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Org(_) => "org",
        }
    }

    /// Orgs read the platform's policy: its query selects only rows of that policy.
    const fn scope(self) -> Scope {
        match self {
            Self::Platform => Scope::All,
            Self::Org(org) => Scope::Org(org),
        }
    }

    /// Returns the versions up to `upto`, newest first.
    fn read(self, tx: &Tx, upto: u32, limit: u32) -> Result<Vec<PolicyVersion>> {
        let rows = match self {
            Self::Platform => tx.query(&OF_PLATFORM, &[upto.into(), limit.into()])?,
            Self::Org(org) => tx.query(&OF_ORG, &[org.into(), upto.into(), limit.into()])?,
        };
        rows.iter().map(read_policy).collect()
    }

    /// Returns the newest version up to `upto`.
    fn at(self, tx: &Tx, upto: u32) -> Result<PolicyVersion> {
        Ok(self.read(tx, upto, 1)?.into_iter().next().unwrap_or_default())
    }
}

struct Save {
    org: OrgId,
    owner: PolicyOwner,
    base_version: u32,
    policy: ToolPolicy,
}

impl Operation for Save {
    type Output = u32;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<u32> {
        let Self { org, owner, base_version, policy } = self;
        let place = lock_org(tx, *org)?.place;
        if matches!(owner, PolicyOwner::Platform) && place != OrgPlace::Platform {
            return Err(StoreError::NotFound("policy of the platform"));
        }
        let newest = owner.at(tx, u32::MAX)?.version;
        if *base_version > newest {
            return Err(StoreError::NotFound("version of this policy"));
        }
        if *base_version < newest {
            return Err(StoreError::Conflict(format!("version {newest} of this policy")));
        }
        let layer = owner.policy_layer();
        let next = newest + 1;
        let params = [(*org).into(), layer.into(), next.into(), Value::json(policy)?];
        tx.execute(&SAVE, &params)?;
        Ok(next)
    }
}

struct ReadAt(PolicyOwner, u32);

impl Operation for ReadAt {
    type Output = PolicyVersion;

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn run(&self, tx: &Tx) -> Result<PolicyVersion> {
        self.0.at(tx, self.1)
    }
}

struct History(PolicyOwner, u32, u32);

impl Operation for History {
    type Output = Vec<PolicyVersion>;

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn run(&self, tx: &Tx) -> Result<Vec<PolicyVersion>> {
        self.0.read(tx, self.1, self.2)
    }
}

/// Returns `found` if it is the requested version and not an earlier one.
fn require_version(version: u32, found: PolicyVersion) -> Result<PolicyVersion> {
    if found.version == version {
        Ok(found)
    } else {
        Err(StoreError::NotFound("version of this policy"))
    }
}

fn read_policy(row: &Row) -> Result<PolicyVersion> {
    Ok(PolicyVersion {
        version: row.version(0)?,
        policy: row.json(1, "tool policy")?,
        saved_at: Some(row.time(2)?),
    })
}
