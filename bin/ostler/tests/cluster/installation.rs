//! The installation of the cluster: a folder with `ostler.toml`, and an org in its
//! database.

use ostler_domain::agent::Agent;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::money::{Credits, Usd};
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::secret::SecretRef;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_store::{OrgBinding, Store};
use ostler_testkit as testkit;
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
      - { call: create_contact, with: { name: "Friend {{ word }}" } }
      - { text: "Noted: {{ user }}", delay: 100ms }
default: { text: "About {{ user }}", delay: 100ms }
"#;

/// The folder and the database of the cluster.
pub(crate) struct ClusterInstallation {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) database: String,
}

impl ClusterInstallation {
    pub(crate) async fn create(database: &str, bus: &str, gateway: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "database = {database:?}\nbus = {bus:?}\nscript = \"script.yaml\"\n\
             local_network = true\nlease_timeout_secs = 3\n"
        );
        std::fs::write(folder.path().join("ostler.toml"), config).unwrap();
        std::fs::write(folder.path().join("script.yaml"), SCRIPT).unwrap();
        let installation = Self { folder, database: database.to_owned() };
        installation.seed(gateway).await;
        installation
    }

    /// Returns the variable with the gateway's key, and its value.
    pub(crate) fn secret(&self) -> (String, &'static str) {
        (format!("OSTLER_SECRET_{}_SMS", ORG.to_string().to_uppercase()), KEY)
    }

    async fn seed(&self, gateway: &str) {
        let store = Store::connect(&self.database).unwrap();
        store.migrate().await.unwrap();
        store.create_org(testkit::org(ORG, "bella")).await.unwrap();
        let org_store = store.org(ORG);
        testkit::save_agent(&org_store, gia()).await;
        let binding = testkit::binding(BINDING, Channel::Sms);
        let settings = json!({"url": gateway}).to_string();
        let secret = Some(SecretRef::Env(self.secret().0));
        org_store.save_binding(OrgBinding { binding, agent: GIA, settings, secret }).await.unwrap();
        let mut settings = OrgSettings::default();
        settings.triggers.policy.similarity_percent = 101;
        settings.session_budget.cap = Credits::new(1_000_000);
        settings.session_budget.warning = Credits::new(900_000);
        let data = serde_json::to_string(&settings).unwrap();
        org_store.create_record(SETTINGS, settings_record(ORG), data).await.unwrap();
        testkit::grant_credits(&org_store, "cluster", 1_000_000).await;
    }
}

fn gia() -> Agent {
    let limits = AgentLimits {
        max_messages_per_day: 1_000_000,
        max_cost_per_day: Usd::from_dollars(1_000_000),
    };
    Agent { autonomy: AutonomyLevel::Autonomous, limits, ..testkit::agent(ORG, GIA, "gia") }
}
