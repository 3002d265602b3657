//! An installation: its folder with `ostler.toml`, and an org in its database.

use std::collections::BTreeSet;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection, ToolChoice};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::money::pools::PoolKind;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::org::plan::Plan;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::org::{Org, Place};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::secret::SecretRef;
use ostler_domain::soul::{Soul, SoulOrigin, SoulVersion};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::Profile;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_store::{NewGrant, OrgBinding, Store};
use serde_json::json;

pub(crate) const ORG: OrgId = OrgId::from_u128(0x0b);
const GIA: AgentId = AgentId::from_u128(0x61a);
pub(crate) const BINDING: BindingId = BindingId::from_u128(0x535);
pub(crate) const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const SCRIPT: &str = r#"
price: { input: 0, output: 1000 }
usage: { output: 10 }
rules:
  - when: { user: { regex: 'note (?<word>\S+)' } }
    answer:
      - { call: create_contact, with: { name: "Friend {word}" } }
      - { text: "Noted: {user}", delay: 100ms }
default: { text: "About {user}", delay: 100ms }
"#;

/// An installation.
pub(crate) struct Installation {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) database: String,
}

impl Installation {
    pub(crate) async fn make(database: &str, bus: &str, gateway: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "database = {database:?}\nbus = {bus:?}\nscript = \"script.yaml\"\n\
             local_network = true\ngiven_up_after_secs = 3\n"
        );
        std::fs::write(folder.path().join("ostler.toml"), config).unwrap();
        std::fs::write(folder.path().join("script.yaml"), SCRIPT).unwrap();
        let place = Self { folder, database: database.to_owned() };
        place.furnish(gateway).await;
        place
    }

    /// The variable with the gateway's key.
    pub(crate) fn secret(&self) -> (String, &'static str) {
        (format!("OSTLER_SECRET_{}_SMS", ORG.to_string().to_uppercase()), KEY)
    }

    async fn furnish(&self, gateway: &str) {
        let store = Store::connect(&self.database).unwrap();
        store.migrate().await.unwrap();
        store.create_org(org()).await.unwrap();
        let here = store.org(ORG);
        here.save_agent(gia()).await.unwrap();
        let soul = Soul { personality: "I am Gia.".into(), ..Soul::default() };
        let at = Timestamp::from_millis(0);
        let version = SoulVersion { version: 1, soul, origin: SoulOrigin::Created, at };
        here.push_soul(GIA, version).await.unwrap();
        let binding = Binding { id: BINDING, channel: Channel::Sms, enabled: true, priority: 1 };
        let settings = json!({"url": gateway}).to_string();
        let secret = Some(SecretRef::Env(self.secret().0));
        here.save_binding(OrgBinding { binding, agent: GIA, settings, secret }).await.unwrap();
        let mut settings = OrgSettings::default();
        settings.triggers.policy.alike_percent = 101;
        settings.session_budget.cap = Credits::new(1_000_000);
        settings.session_budget.warning = Credits::new(900_000);
        let data = serde_json::to_string(&settings).unwrap();
        here.create_record(SETTINGS, settings_record(ORG), data).await.unwrap();
        let (reference, amount) = ("cluster".into(), Credits::new(1_000_000));
        here.grant(NewGrant { reference, pool: PoolKind::Purchased, amount }).await.unwrap();
    }
}

fn org() -> Org {
    Org {
        id: ORG,
        slug: "bella".into(),
        name: "Bella Pizza".into(),
        place: Place::TopLevel,
        plan: Plan::Pro,
        sub_orgs_enabled: false,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
    }
}

fn gia() -> Agent {
    Agent {
        id: GIA,
        org: ORG,
        slug: "gia".into(),
        display_name: "Gia".into(),
        subtype: Subtype::CustomerService,
        protection: Protection::Open,
        status: AgentStatus::Active,
        kind: AgentKind::Conversational,
        template: None,
        tools: ToolChoice { profile: Profile::Everything, policy: ToolPolicy::default() },
        models: vec!["scripted".into()],
        brand: None,
        autonomy: AutonomyLevel::Autonomous,
        require_approval_for: BTreeSet::new(),
        blocked_topics: Vec::new(),
        limits: AgentLimits {
            max_messages_per_day: 1_000_000,
            max_cost_per_day: Usd::from_dollars(1_000_000),
        },
        knowledge_tags: BTreeSet::new(),
        created_at: Timestamp::from_millis(0),
    }
}
