//! Sets up an installation: the platform org, its protected system agent and the first
//! administrator.

use std::collections::BTreeSet;

use ostler_domain::agent::autonomy::initial_level;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection, ToolSelection};
use ostler_domain::contact::check_email;
use ostler_domain::id::{AgentId, AuditId, OrgId, UserId};
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::org::plan::{CreditAllowance, LicencePlan};
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::soul::{Soul, SoulOrigin, SoulVersion};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::ToolProfile;
use ostler_store::{NewAuditEntry, PlatformParts, PlatformSetup, User};
use serde_json::json;

use super::{Actor, OperationError, Operations, Result};
use crate::ids::fresh;

/// The name of the system agent.
const SYSTEM_AGENT: (&str, &str) = ("quinn", "Quinn");
/// The slug of the template that holds its soul.
const TEMPLATE: &str = "quinn-template";
/// The personality of the system agent.
const PERSONALITY: &str =
    "You are Quinn, the system agent of this installation. You help the people who run it.";

impl Operations {
    /// Returns which parts of an installation exist.
    pub async fn platform_parts(&self, actor: Actor) -> Result<PlatformParts> {
        check_terminal(actor)?;
        Ok(self.0.store.platform_parts().await?)
    }

    /// Adds what is missing of the platform org, its system agent and an administrator, in
    /// one transaction, and returns what existed before. Nothing that exists is changed. The
    /// administrator gets an account that nobody can log in to until it has a password.
    pub async fn set_up(&self, actor: Actor, email: &str, name: &str) -> Result<PlatformParts> {
        check_terminal(actor)?;
        let (email, name) = (email.trim(), name.trim());
        if name.is_empty() {
            return Err(OperationError::Empty("the name of the administrator"));
        }
        check_email(email)?;
        let now = self.0.clock.now();
        let platform = platform();
        let template = system_agent(&platform, None, now);
        let system_agent = system_agent(&platform, Some(template.id), now);
        for agent in [&template, &system_agent] {
            agent.check_creation()?;
        }
        let soul = Soul { personality: PERSONALITY.to_owned(), ..Soul::default() };
        let entry = NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor: actor.audit_actor(),
            action: "set_up".to_owned(),
            subject: String::new(),
            data: json!({"administrator": email}).to_string(),
        };
        let (id, email, name) = (fresh(UserId::from_u128), email.to_owned(), name.to_owned());
        let setup = PlatformSetup {
            platform,
            system_agent,
            template,
            soul: SoulVersion { version: 1, soul, origin: SoulOrigin::Created, at: now },
            administrator: User { id, email, name },
        };
        Ok(self.0.store.set_up_platform(setup, entry).await?)
    }
}

fn check_terminal(actor: Actor) -> Result<()> {
    if actor != Actor::Terminal {
        return Err(OperationError::Forbidden {
            who: "you".to_owned(),
            what: "set up the installation",
            holders: "the operator at the machine",
        });
    }
    Ok(())
}

fn platform() -> Org {
    Org {
        id: fresh(OrgId::from_u128),
        slug: "platform".to_owned(),
        name: "Platform".to_owned(),
        place: OrgPlace::Platform,
        plan: LicencePlan::Enterprise,
        sub_orgs_enabled: false,
        time_zone: "UTC".to_owned(),
        retention_days: None,
        archived: false,
        credits: CreditAllowance::default(),
    }
}

/// Returns the system agent with its template, or the template if none is given.
fn system_agent(platform: &Org, template: Option<AgentId>, now: Timestamp) -> Agent {
    let (slug, name) = SYSTEM_AGENT;
    let (slug, kind) = match template {
        Some(_) => (slug, AgentKind::Conversational),
        None => (TEMPLATE, AgentKind::Template),
    };
    let profile = ToolProfile::default_for(&Subtype::System);
    Agent {
        id: fresh(AgentId::from_u128),
        org: platform.id,
        slug: slug.to_owned(),
        display_name: name.to_owned(),
        subtype: Subtype::System,
        protection: Protection::Protected,
        status: AgentStatus::Active,
        kind,
        template,
        tools: ToolSelection { profile, policy: ToolPolicy::default() },
        models: Vec::new(),
        brand: None,
        autonomy: initial_level(&BusinessPosition::of(platform, &Subtype::System)),
        require_approval_for: BTreeSet::new(),
        blocked_topics: Vec::new(),
        limits: AgentLimits::default(),
        knowledge_tags: BTreeSet::new(),
        created_at: now,
    }
}
