//! An org with one agent, and customers.

use std::sync::Arc;

use ostler_domain::agent::Agent;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::contact::SenderProof;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::message::MessagePart;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::org::Org;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::settings::OrgSettings;
use ostler_engine::tool::{Tool, ToolSet};
use ostler_engine::turn::{ModelChains, Models};
use ostler_runtime::conversation::Worker;
use ostler_runtime::deltas::Deltas;
use ostler_runtime::deps::{Clock, Deps, Settings};
use ostler_runtime::inbox::Intake;
use ostler_runtime::metrics::RuntimeMetrics;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_runtime::records::entry::{InboxEntry, IncomingMessage, MessageSender};
use ostler_runtime::running_turns::RunningTurns;
use ostler_runtime::toolbox::Toolbox;
use ostler_store::{OrgBinding, Store};
use ostler_testkit as testkit;

use crate::BenchError;
use crate::store::fixture::next;
use crate::turn::setup::{LookupTool, Task, instant, look};

const ORG: OrgId = OrgId::from_u128(1);
const AGENT: AgentId = AgentId::from_u128(2);
const BINDING: BindingId = BindingId::from_u128(3);

/// The same model for every agent.
struct SingleModel(Arc<dyn Models>);

impl ModelChains for SingleModel {
    fn chain(&self, _: &[String]) -> Arc<dyn Models> {
        self.0.clone()
    }
}

/// An org with one agent.
#[derive(Clone)]
pub(crate) struct PipelineSetup {
    pub(crate) worker: Worker,
    pub(crate) intake: Intake,
    /// The tool of the agent.
    pub(super) look: Arc<LookupTool>,
}

impl PipelineSetup {
    pub(super) async fn new(url: &str) -> Result<Self, BenchError> {
        let store = Store::connect(url)?;
        store.migrate().await?;
        let binding = testkit::binding(BINDING, Channel::Webchat);
        let settings = "{}".to_owned();
        let bound = OrgBinding { binding, agent: AGENT, settings, secret: None };
        create_org(&store, ORG, AGENT, bound).await?;
        Self::in_store(store)
    }

    /// Returns a worker and an intake on a store with orgs.
    pub(crate) fn in_store(store: Store) -> Result<Self, BenchError> {
        let (live, look) = (RunningTurns::default(), look());
        let mut settings = Settings::default();
        settings.claims.max_per_org = u32::MAX;
        settings.max_backlog = u32::MAX;
        let parts = Deps {
            store: store.clone(),
            tools: Toolbox::new(Arc::new(ToolSet::new([look.clone() as Arc<dyn Tool>])?)),
            models: Arc::new(SingleModel(instant())),
            plan_effects: Arc::new(|_, _| Box::pin(std::future::ready(Ok(Vec::new())))),
            metrics: RuntimeMetrics::default(),
            deltas: Deltas::default(),
            clock: Clock::system(),
            settings,
        };
        let worker = Worker::new(parts, live);
        let intake = Intake::new(store, worker.bell().clone(), u32::MAX);
        Ok(Self { worker, intake, look })
    }

    /// Accepts a message and answers one that waits, this or another. Returns
    /// whether there was one: two messages of a customer may be answered by one
    /// turn.
    pub(super) async fn turn(&self, who: &str, task: Task) -> Result<bool, BenchError> {
        let key = testkit::customer_key(ORG, BINDING, who);
        let from = MessageSender {
            identifier: who.to_owned(),
            name: None,
            locale: None,
            proof: SenderProof::Proven,
        };
        let entry = InboxEntry::Message(IncomingMessage {
            parts: vec![MessagePart::text(task.name())],
            from,
            ..IncomingMessage::default()
        });
        self.intake.accept(key, &next().to_string(), &entry).await?;
        Ok(self.worker.answer_next().await?)
    }
}

/// Creates an org with one agent, who may spend as much as it takes.
pub(crate) async fn create_org(
    store: &Store,
    org: OrgId,
    agent: AgentId,
    bound: OrgBinding,
) -> Result<(), BenchError> {
    let slug = format!("bench-{}", org.as_u128());
    let of = store.org(org);
    store.create_org(Org { plan: LicencePlan::Enterprise, ..testkit::org(org, &slug) }).await?;
    let limits = AgentLimits {
        max_messages_per_day: u32::MAX,
        max_cost_per_day: Usd::from_dollars(1_000_000_000),
    };
    let agent = Agent {
        subtype: Subtype::Pm,
        models: Vec::new(),
        autonomy: AutonomyLevel::Autonomous,
        limits,
        ..testkit::agent(org, agent, "gia")
    };
    of.save_agent(agent).await?;
    of.save_binding(bound).await?;
    let (cap, warning) = (Credits::new(u64::from(u32::MAX)), Credits::new(u64::from(u32::MAX)));
    let session_budget = SessionBudget { cap, warning, spent: Credits::ZERO };
    let mut settings = OrgSettings { session_budget, ..OrgSettings::default() };
    // Repeated answers are intended here.
    settings.triggers.policy.similarity_percent = 101;
    let data = serde_json::to_string(&settings).unwrap_or_default();
    of.create_record(SETTINGS, settings_record(org), data).await?;
    Ok(())
}
