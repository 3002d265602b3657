//! Tool policies of the platform and of orgs, as versions that are only added,
//! so that a run can say by a number which one it was held to. An agent's own
//! policy is part of the agent and has the agent's versions.

use ostler_domain::id::OrgId;
use ostler_domain::org::Place;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::time::Timestamp;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::orgs::hold;
use crate::{OrgStore, Store};

/// A version of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyVersion {
    /// Its number. 0 is what everybody begins with: the policy that removes
    /// nothing.
    pub version: u32,
    /// The policy.
    pub policy: ToolPolicy,
    /// When it was saved; version 0 never was.
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
    /// The platform's policy, which holds every org and is no tenant's secret.
    pub async fn platform_policy(&self) -> Result<PolicyVersion> {
        self.read(At(Whose::Platform, u32::MAX)).await
    }

    /// The platform's policy as it was.
    pub async fn platform_policy_at(&self, version: u32) -> Result<PolicyVersion> {
        exactly(version, self.read(At(Whose::Platform, version)).await?)
    }

    /// The versions of the platform's policy up to one of them, newest first.
    pub async fn platform_policies(&self, upto: u32, most: u32) -> Result<Vec<PolicyVersion>> {
        self.read(History(Whose::Platform, upto, most)).await
    }
}

impl OrgStore<'_> {
    /// Saves the org's policy as the version after the one it changes, and says
    /// which that is. If somebody else was faster, it is refused.
    pub async fn save_policy(&self, changes: u32, policy: ToolPolicy) -> Result<u32> {
        let whose = Whose::Org(self.org);
        self.store.write(Save { org: self.org, whose, changes, policy }).await
    }

    /// Saves the platform's policy, which only the platform's org can.
    pub async fn save_platform_policy(&self, changes: u32, policy: ToolPolicy) -> Result<u32> {
        let whose = Whose::Platform;
        self.store.write(Save { org: self.org, whose, changes, policy }).await
    }

    /// The org's policy.
    pub async fn policy(&self) -> Result<PolicyVersion> {
        self.store.read(At(Whose::Org(self.org), u32::MAX)).await
    }

    /// The org's policy as it was.
    pub async fn policy_at(&self, version: u32) -> Result<PolicyVersion> {
        exactly(version, self.store.read(At(Whose::Org(self.org), version)).await?)
    }

    /// The versions of the org's policy up to one of them, newest first.
    pub async fn policies(&self, upto: u32, most: u32) -> Result<Vec<PolicyVersion>> {
        self.store.read(History(Whose::Org(self.org), upto, most)).await
    }
}

/// Whose policy.
#[derive(Debug, Clone, Copy)]
enum Whose {
    Platform,
    Org(OrgId),
}

impl Whose {
    const fn policy_layer(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Org(_) => "org",
        }
    }

    /// Orgs read the platform's policy: the one query that does names nothing
    /// but the rows of that policy.
    const fn scope(self) -> Scope {
        match self {
            Self::Platform => Scope::All,
            Self::Org(org) => Scope::Org(org),
        }
    }

    /// The versions up to one of them, newest first.
    async fn read<T: Tx>(self, tx: &T, upto: u32, most: u32) -> Result<Vec<PolicyVersion>> {
        let rows = match self {
            Self::Platform => tx.query(&OF_PLATFORM, &[upto.into(), most.into()]).await?,
            Self::Org(org) => tx.query(&OF_ORG, &[org.into(), upto.into(), most.into()]).await?,
        };
        rows.iter().map(policy).collect()
    }

    /// The newest version up to one of them.
    async fn at<T: Tx>(self, tx: &T, upto: u32) -> Result<PolicyVersion> {
        Ok(self.read(tx, upto, 1).await?.into_iter().next().unwrap_or_default())
    }
}

struct Save {
    org: OrgId,
    whose: Whose,
    changes: u32,
    policy: ToolPolicy,
}

impl Operation for Save {
    type Output = u32;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<u32> {
        let Self { org, whose, changes, policy } = self;
        let place = hold(tx, *org).await?.place;
        if matches!(whose, Whose::Platform) && place != Place::Platform {
            return Err(StoreError::NotFound("policy of the platform"));
        }
        let newest = whose.at(tx, u32::MAX).await?.version;
        if *changes > newest {
            return Err(StoreError::NotFound("version of this policy"));
        }
        if *changes < newest {
            return Err(StoreError::Conflict(format!("version {newest} of this policy")));
        }
        let layer = whose.policy_layer();
        let next = newest + 1;
        let params = [(*org).into(), layer.into(), next.into(), Value::json(policy)?];
        tx.execute(&SAVE, &params).await?;
        Ok(next)
    }
}

struct At(Whose, u32);

impl Operation for At {
    type Output = PolicyVersion;

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<PolicyVersion> {
        self.0.at(tx, self.1).await
    }
}

struct History(Whose, u32, u32);

impl Operation for History {
    type Output = Vec<PolicyVersion>;

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<PolicyVersion>> {
        self.0.read(tx, self.1, self.2).await
    }
}

/// The version that was asked for, and not one before it.
fn exactly(version: u32, found: PolicyVersion) -> Result<PolicyVersion> {
    if found.version == version {
        Ok(found)
    } else {
        Err(StoreError::NotFound("version of this policy"))
    }
}

fn policy(row: &Row) -> Result<PolicyVersion> {
    Ok(PolicyVersion {
        version: row.version(0)?,
        policy: row.json(1, "tool policy")?,
        saved_at: Some(row.time(2)?),
    })
}
