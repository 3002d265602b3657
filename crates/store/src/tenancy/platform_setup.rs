//! What a new installation starts with: the platform, its system agent and an administrator.

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind};
use ostler_domain::id::OrgId;
use ostler_domain::org::Org;
use ostler_domain::org::role::Role;
use ostler_domain::soul::SoulVersion;

use crate::Store;
use crate::agents::agent;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::error::Result;
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::tenancy::org_config::find_platform;
use crate::tenancy::users::{self, User};
use crate::tenancy::{members, orgs};

/// The parts of a new installation. The agents belong to the platform that is found, or else
/// to the one that is created.
#[derive(Debug, Clone)]
pub struct PlatformSetup {
    pub platform: Org,
    pub system_agent: Agent,
    /// The template that holds the soul of the system agent.
    pub template: Agent,
    pub soul: SoulVersion,
    pub administrator: User,
}

/// What exists of the parts of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlatformParts {
    pub platform: Option<OrgId>,
    pub system_agent: bool,
    pub administrator: bool,
}

const SYSTEM_AGENTS: Sql = sql!("SELECT data FROM agents WHERE org = ?1");
const ADMINISTRATORS: Sql =
    sql!("SELECT user_id FROM memberships WHERE org = ?1 AND role = ?2 LIMIT 1");

impl Store {
    /// Returns which parts of an installation exist.
    pub fn platform_parts(&self) -> StoreFuture<PlatformParts> {
        self.read_all_orgs(parts)
    }

    /// Adds the parts that are missing, in one transaction with the audit entry about the
    /// platform, and returns what existed before. If nothing is missing, nothing is written.
    pub fn set_up_platform(
        &self,
        setup: PlatformSetup,
        entry: NewAuditEntry,
    ) -> StoreFuture<PlatformParts> {
        self.write_all_orgs(move |tx| {
            let before = parts(tx)?;
            if before.platform.is_some() && before.system_agent && before.administrator {
                return Ok(before);
            }
            let platform = match before.platform {
                Some(platform) => platform,
                None => {
                    orgs::create(tx, &setup.platform)?;
                    setup.platform.id
                }
            };
            let entry = NewAuditEntry { subject: platform.to_string(), ..entry.clone() };
            tx.batch(&[audit::append(platform, &entry)?])?;
            if !before.system_agent {
                add_system_agent(tx, platform, &setup)?;
            }
            if !before.administrator {
                let user = users::find_or_create(tx, &setup.administrator)?;
                members::set_member(tx, platform, user, Role::PlatformAdmin)?;
            }
            Ok(before)
        })
    }
}

fn add_system_agent(tx: &Tx, platform: OrgId, setup: &PlatformSetup) -> Result<()> {
    for agent in [&setup.template, &setup.system_agent] {
        agent::save(tx, &Agent { org: platform, ..agent.clone() })?;
    }
    agent::push_soul(tx, platform, setup.template.id, &setup.soul)
}

fn parts(tx: &Tx) -> Result<PlatformParts> {
    let Some(platform) = find_platform(tx)? else { return Ok(PlatformParts::default()) };
    let mut system_agent = false;
    for row in tx.query(&SYSTEM_AGENTS, &[platform.into()])? {
        let agent: Agent = row.json(0, "agent")?;
        system_agent |= agent.subtype == Subtype::System && agent.kind != AgentKind::Template;
    }
    let admins =
        tx.first(&ADMINISTRATORS, &[platform.into(), Role::PlatformAdmin.name().into()])?;
    Ok(PlatformParts { platform: Some(platform), system_agent, administrator: admins.is_some() })
}
