//! Tool policies of the platform and of orgs. Versions are immutable, so that a run
//! records by number which one applied. An agent's own policy is part of the agent
//! and versioned with it.

use ostler_domain::id::OrgId;
use ostler_domain::org::OrgPlace;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::time::Timestamp;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
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
/// Every org reads the platform's policy: this selects only rows of that policy.
const OF_PLATFORM: Sql = sql!(
    "SELECT version, data, saved_at FROM tool_policies
     WHERE policy_layer = 'platform' AND version <= ?1 ORDER BY version DESC LIMIT ?2"
);

impl Store {
    /// Returns the platform's policy, which applies to every org and is readable by
    /// all.
    pub fn platform_policy(&self) -> StoreFuture<PolicyVersion> {
        self.read_all_orgs(|tx| PolicyOwner::Platform.newest(tx))
    }

    /// Returns one version of the platform's policy.
    pub fn platform_policy_at(&self, version: u32) -> StoreFuture<PolicyVersion> {
        self.read_all_orgs(move |tx| PolicyOwner::Platform.at(tx, version))
    }

    /// Returns the versions of the platform's policy up to `upto`, newest first.
    pub fn platform_policies(&self, upto: u32, limit: u32) -> StoreFuture<Vec<PolicyVersion>> {
        self.read_all_orgs(move |tx| PolicyOwner::Platform.list(tx, upto, limit))
    }
}

impl OrgStore<'_> {
    /// Saves the org's policy as the version after `base_version` and returns its
    /// number. Fails with [`StoreError::Conflict`] if there is a newer version.
    pub fn save_policy(&self, base_version: u32, policy: ToolPolicy) -> StoreFuture<u32> {
        let org = self.org;
        self.write(move |tx| save(tx, org, PolicyOwner::Org(org), base_version, &policy))
    }

    /// Saves the platform's policy like [`save_policy`](Self::save_policy); fails
    /// with [`StoreError::NotFound`] unless this is the platform's org.
    pub fn save_platform_policy(&self, base_version: u32, policy: ToolPolicy) -> StoreFuture<u32> {
        let org = self.org;
        self.write(move |tx| save(tx, org, PolicyOwner::Platform, base_version, &policy))
    }

    /// Returns the org's policy.
    pub fn policy(&self) -> StoreFuture<PolicyVersion> {
        let owner = PolicyOwner::Org(self.org);
        self.read(move |tx| owner.newest(tx))
    }

    /// Returns one version of the org's policy.
    pub fn policy_at(&self, version: u32) -> StoreFuture<PolicyVersion> {
        let owner = PolicyOwner::Org(self.org);
        self.read(move |tx| owner.at(tx, version))
    }

    /// Returns the versions of the org's policy up to `upto`, newest first.
    pub fn policies(&self, upto: u32, limit: u32) -> StoreFuture<Vec<PolicyVersion>> {
        self.rows(&OF_ORG, [upto.into(), limit.into()], read_policy)
    }
}

/// The owner of a policy.
#[derive(Debug, Clone, Copy)]
pub(super) enum PolicyOwner {
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

    /// Returns the versions up to `upto`, newest first.
    fn list(self, tx: &Tx, upto: u32, limit: u32) -> Result<Vec<PolicyVersion>> {
        let rows = match self {
            Self::Platform => tx.query(&OF_PLATFORM, &[upto.into(), limit.into()])?,
            Self::Org(org) => tx.query(&OF_ORG, &[org.into(), upto.into(), limit.into()])?,
        };
        rows.iter().map(read_policy).collect()
    }

    pub(super) fn newest(self, tx: &Tx) -> Result<PolicyVersion> {
        Ok(self.list(tx, u32::MAX, 1)?.into_iter().next().unwrap_or_default())
    }

    fn at(self, tx: &Tx, version: u32) -> Result<PolicyVersion> {
        let found = self.list(tx, version, 1)?.into_iter().next().unwrap_or_default();
        let exact = Some(found).filter(|found| found.version == version);
        exact.ok_or(StoreError::NotFound("version of this policy"))
    }
}

/// Returns the newest policy of an org, inside a transaction.
pub(crate) fn newest_of_org(tx: &Tx, org: OrgId) -> Result<PolicyVersion> {
    PolicyOwner::Org(org).newest(tx)
}

/// Saves the next version of an org's policy, inside a transaction.
pub(crate) fn replace(tx: &Tx, org: OrgId, policy: &ToolPolicy) -> Result<()> {
    replace_newest(tx, org, PolicyOwner::Org(org), policy)
}

/// Saves the next version of the platform's policy, inside a transaction.
pub(crate) fn replace_platform(tx: &Tx, org: OrgId, policy: &ToolPolicy) -> Result<()> {
    replace_newest(tx, org, PolicyOwner::Platform, policy)
}

fn replace_newest(tx: &Tx, org: OrgId, owner: PolicyOwner, policy: &ToolPolicy) -> Result<()> {
    lock_org(tx, org)?;
    let newest = owner.newest(tx)?.version;
    save(tx, org, owner, newest, policy).map(drop)
}

fn save(
    tx: &Tx,
    org: OrgId,
    owner: PolicyOwner,
    base_version: u32,
    policy: &ToolPolicy,
) -> Result<u32> {
    let place = lock_org(tx, org)?.place;
    if matches!(owner, PolicyOwner::Platform) && place != OrgPlace::Platform {
        return Err(StoreError::NotFound("policy of the platform"));
    }
    let newest = owner.newest(tx)?.version;
    if base_version > newest {
        return Err(StoreError::NotFound("version of this policy"));
    }
    if base_version < newest {
        return Err(StoreError::Conflict(format!("version {newest} of this policy")));
    }
    let next = newest + 1;
    let layer = owner.policy_layer().into();
    tx.execute(&SAVE, &[org.into(), layer, next.into(), Value::json(policy)?])?;
    Ok(next)
}

fn read_policy(row: &Row) -> Result<PolicyVersion> {
    Ok(PolicyVersion {
        version: row.version(0)?,
        policy: row.json(1, "tool policy")?,
        saved_at: Some(row.time(2)?),
    })
}
