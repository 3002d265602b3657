//! An org with one agent, and customers who write.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection, ToolChoice};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::message::Part;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::org::plan::Plan;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::org::{Org, Place};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::session::key::{ConversationKey, Entry as EntryKind, Peer};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::Profile;
use ostler_engine::tool::ToolSet;
use ostler_engine::turn::{ModelChains, Models};
use ostler_runtime::deltas::Deltas;
use ostler_runtime::inbound::Worker;
use ostler_runtime::inbound::accept::Intake;
use ostler_runtime::inbound::live::Live;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_runtime::parts::{Clock, Parts, Settings};
use ostler_runtime::talk::entry::{Entry, Writer, Wrote};
use ostler_store::{OrgBinding, Store};

use crate::BenchError;
use crate::store::world::next;
use crate::turn::world::{Task, instant, look};

const ORG: OrgId = OrgId::from_u128(1);
const AGENT: AgentId = AgentId::from_u128(2);
const BINDING: BindingId = BindingId::from_u128(3);

/// One model for everybody.
struct One(Arc<dyn Models>);

impl ModelChains for One {
    fn chain(&self, _: &[String]) -> Arc<dyn Models> {
        self.0.clone()
    }
}

/// An org with one agent.
#[derive(Clone)]
pub(super) struct World {
    worker: Worker,
    intake: Intake,
}

impl World {
    pub(super) async fn new(url: &str) -> Result<Self, BenchError> {
        let store = Store::connect(url)?;
        store.migrate().await?;
        plant(&store).await?;
        let live = Live::default();
        let mut settings = Settings::default();
        settings.claims.per_org = u32::MAX;
        settings.backlog = u32::MAX;
        let parts = Parts {
            store: store.clone(),
            tools: Arc::new(ToolSet::new([look()])?),
            models: Arc::new(One(instant())),
            effects: Arc::new(|_, _| Box::pin(std::future::ready(Ok(Vec::new())))),
            deltas: Deltas::default(),
            clock: Clock::system(),
            settings,
        };
        let worker = Worker::new(parts, live);
        let intake = Intake::new(store, worker.bell().clone(), u32::MAX);
        Ok(Self { worker, intake })
    }

    /// Somebody writes, and a message is answered: theirs, or another's who
    /// wrote at the same time. Says whether it was: where somebody wrote twice
    /// before it was their turn, both are answered at once, and one finds nothing
    /// left to do.
    pub(super) async fn turn(&self, who: &str, task: Task) -> Result<bool, BenchError> {
        let key = ConversationKey {
            org: ORG,
            binding: BINDING,
            peer: Peer::Person(who.to_owned()),
            entry: EntryKind::Customer,
        };
        let from = Writer { identifier: who.to_owned(), name: None, locale: None };
        let entry =
            Entry::Wrote(Wrote { parts: vec![Part::text(task.name())], from, ..Wrote::default() });
        self.intake.accept(key, &next().to_string(), &entry).await?;
        Ok(self.worker.answer_next().await?)
    }
}

async fn plant(store: &Store) -> Result<(), BenchError> {
    store
        .create_org(Org {
            id: ORG,
            slug: "bench".into(),
            name: "Bench".into(),
            place: Place::TopLevel,
            plan: Plan::Enterprise,
            sub_orgs_enabled: false,
            time_zone: "UTC".into(),
            retention_days: None,
        })
        .await?;
    let of = store.org(ORG);
    of.save_agent(Agent {
        id: AGENT,
        org: ORG,
        slug: "gia".into(),
        display_name: "Gia".into(),
        subtype: Subtype::Pm,
        protection: Protection::Open,
        status: AgentStatus::Active,
        kind: AgentKind::Conversational,
        template: None,
        tools: ToolChoice { profile: Profile::Everything, policy: ToolPolicy::default() },
        models: Vec::new(),
        brand: None,
        autonomy: AutonomyLevel::Autonomous,
        require_approval_for: BTreeSet::new(),
        blocked_topics: Vec::new(),
        limits: AgentLimits {
            max_messages_per_day: u32::MAX,
            max_cost_per_day: Usd::from_dollars(1_000_000_000),
        },
        knowledge_tags: BTreeSet::new(),
        created_at: Timestamp::from_millis(0),
    })
    .await?;
    let binding = Binding { id: BINDING, channel: Channel::Webchat, enabled: true, priority: 1 };
    let settings = "{}".to_owned();
    of.save_binding(OrgBinding { binding, agent: AGENT, settings, secret: None }).await?;
    let (cap, warning) = (Credits::new(u64::from(u32::MAX)), Credits::new(u64::from(u32::MAX)));
    let session_budget = SessionBudget { cap, warning, spent: Credits::ZERO };
    let mut settings = OrgSettings { session_budget, ..OrgSettings::default() };
    // The same answer again and again is what is measured here.
    settings.triggers.policy.alike_percent = 101;
    let data = serde_json::to_string(&settings).unwrap_or_default();
    of.create_record(SETTINGS, settings_record(ORG), data).await?;
    Ok(())
}
