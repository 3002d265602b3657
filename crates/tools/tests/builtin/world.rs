//! An org with a store, and a turn that calls tools in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::gate::Authority;
use ostler_domain::id::{AgentId, ContactId, OrgId, RecordId};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::org::layer::Standing;
use ostler_domain::org::plan::Plan;
use ostler_domain::org::{Org, Place};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::catalogue::built_in;
use ostler_domain::tool::profile::Profile;
use ostler_domain::tool::{Integration, Trust};
use ostler_engine::history::{CallId, Item};
use ostler_engine::model::{Chunk, Model, ModelError, Request, StopReason};
use ostler_engine::outcome::{Effect, Outcome, Status};
use ostler_engine::tool::{Reply, Tool, ToolContext, ToolSet};
use ostler_engine::turn::{
    Action, Decision, Input, Limits, Models, NewTurn, Out, Question, QuestionKind, Rules, Turn,
};
use ostler_store::Store;
use ostler_tools::effects::{self, EffectError, StoreEffect};
use ostler_tools::records::Entity;
use serde_json::Value;

/// 15 November 2026, 13:00 in UTC, which is 14:00 in Rome.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_794_747_600_000);
pub(crate) const ORG: OrgId = OrgId::from_u128(1);
pub(crate) const OTHER: OrgId = OrgId::from_u128(2);

/// A store with two orgs, and an agent of the first.
pub(crate) struct World {
    pub(crate) store: Store,
    tools: Arc<ToolSet>,
    /// What the turn wants stored so far.
    pub(crate) pending: Vec<Effect>,
    pub(crate) contact: Option<ContactId>,
    calls: u32,
}

impl World {
    pub(crate) async fn new() -> Self {
        let store = Store::connect("sqlite::memory:").unwrap();
        store.migrate().await.unwrap();
        for (id, slug) in [(ORG, "rome"), (OTHER, "other")] {
            store.create_org(org(id, slug)).await.unwrap();
        }
        let tools = ostler_tools::catalogue::business(store.clone());
        let tools = Arc::new(ToolSet::new(tools).unwrap());
        Self { store, tools, pending: Vec::new(), contact: None, calls: 0 }
    }

    /// Stores a record of an org.
    pub(crate) async fn put<E: Entity>(&self, org: OrgId, id: u128, entity: &E) -> RecordId {
        self.put_as(org, E::KIND, id, &entity.to_data().unwrap()).await
    }

    pub(crate) async fn put_as(&self, org: OrgId, kind: &str, id: u128, data: &str) -> RecordId {
        let id = RecordId::from_u128(id);
        self.store.org(org).create_record(kind, id, data.to_owned()).await.unwrap();
        id
    }

    /// Calls a tool in the same turn as the calls before.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Outcome {
        self.call_as(AutonomyLevel::Autonomous, tool, arguments).await.1
    }

    /// The same at a level of autonomy, and what was asked.
    pub(crate) async fn call_as(
        &mut self,
        level: AutonomyLevel,
        tool: &str,
        arguments: Value,
    ) -> (Vec<Question>, Outcome) {
        self.calls += 1;
        let context = ToolContext {
            org: ORG,
            agent: AgentId::from_u128(1),
            session: None,
            contact: self.contact,
            now: NOW,
            idempotency_key: format!("call {}", self.calls),
            pending: self.pending.clone().into(),
        };
        let (asked, outcome) = call_as(level, &self.tools, &context, tool, &arguments).await;
        self.pending.extend(outcome.effects.iter().cloned());
        (asked, outcome)
    }

    /// Calls a tool that is to succeed, and reads its answer.
    pub(crate) async fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let outcome = self.call(tool, arguments).await;
        assert_eq!(outcome.status, Status::Ok, "{tool}: {}", outcome.content);
        serde_json::from_str(&outcome.content)
            .unwrap_or_else(|_| panic!("{tool}: {}", outcome.content))
    }

    /// Calls a tool whose answer is not JSON.
    pub(crate) async fn said(&mut self, tool: &str, arguments: Value) -> (Status, String) {
        let outcome = self.call(tool, arguments).await;
        (outcome.status, outcome.content)
    }

    /// Stores what the turn wants stored, as its commit would.
    pub(crate) async fn commit(&mut self) -> Result<(), EffectError> {
        let pending = std::mem::take(&mut self.pending);
        let effects: Vec<StoreEffect> =
            pending.iter().map(|effect| effect.try_into().unwrap()).collect();
        effects::apply(&self.store.org(ORG), &effects).await
    }
}

fn org(id: OrgId, slug: &str) -> Org {
    Org {
        id,
        slug: slug.into(),
        name: slug.into(),
        place: Place::TopLevel,
        plan: Plan::Pro,
        sub_orgs_enabled: false,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
    }
}

/// Runs one tool as a turn does: a model calls it, the gate lets it through, and
/// what the model is told is what it came to.
pub(crate) async fn call(
    tools: &Arc<ToolSet>,
    context: &ToolContext,
    tool: &str,
    arguments: &Value,
) -> Outcome {
    call_as(AutonomyLevel::Autonomous, tools, context, tool, arguments).await.1
}

/// The same at a level of autonomy: whatever a person is asked, they say yes to.
/// The questions come first.
pub(crate) async fn call_as(
    level: AutonomyLevel,
    tools: &Arc<ToolSet>,
    context: &ToolContext,
    tool: &str,
    arguments: &Value,
) -> (Vec<Question>, Outcome) {
    let scope = scope(level);
    let nothing = BTreeSet::new();
    let rules = Rules {
        scope: &scope,
        tools,
        require_approval_for: &nothing,
        authority: Authority::Conversation(level),
        errors: ErrorPolicy::default(),
        models: &Silent,
        now: NOW,
    };
    let mut turn = Turn::new(new_turn());
    turn.resume(&Default::default(), &rules, &mut Out::default());
    let chunks = [
        Chunk::Call { index: 0, id: "c".into(), name: tool.into() },
        Chunk::Arguments { index: 0, json: arguments.to_string() },
        Chunk::Done(StopReason::ToolCalls),
    ];
    let mut out = Out::default();
    for chunk in chunks {
        turn.step(&[], Input::Chunk(chunk), &rules, &mut out).unwrap();
    }
    let asked: Vec<Question> = turn.questions().into_iter().map(|(_, asked)| asked).collect();
    for question in &asked {
        let QuestionKind::Approval { arguments, .. } = question.kind else { continue };
        assert!(out.actions.is_empty(), "nothing runs before it is approved");
        let yes = Input::Decision(
            question.call.id.clone(),
            Decision::Approve { seen: arguments, arguments: None },
        );
        turn.step(&[], yes, &rules, &mut out).unwrap();
    }
    let mut effects = Vec::new();
    for (_, action) in out.actions {
        if let Action::Run { call, .. } = action {
            let reply = tools.get(tool).unwrap().call(&call, context).await;
            if let Reply::Done(outcome) = &reply {
                effects.clone_from(&outcome.effects);
            }
            let input = Input::Reply(CallId::new("c"), reply);
            turn.step(&[], input, &rules, &mut Out::default()).unwrap();
        }
    }
    let results = turn.said().iter().find_map(|item| match item {
        Item::Results { results } => results.first(),
        _ => None,
    });
    // The turn keeps them apart from what the model is told.
    (asked, Outcome { effects, ..results.expect("the call has a result").outcome.clone() })
}

fn new_turn() -> NewTurn {
    let much = Credits::new(1000);
    NewTurn {
        system: "".into(),
        history: vec![Item::user("go")],
        approved: None,
        trust: Trust::Trusted,
        budget: TurnBudget {
            reserved: much,
            top_up: much,
            session: much,
            kept_for_reading: Credits::ZERO,
            team: None,
        },
        errors: ErrorState::default(),
        limits: Limits::default(),
        now: NOW,
    }
}

fn scope(autonomy: AutonomyLevel) -> ToolScope {
    let standing = Standing::of(&org(ORG, "rome"), &Subtype::Pm);
    let policy = ToolPolicy::default();
    let facts = ScopeFacts {
        platform: &policy,
        org: OrgTools {
            policy: &policy,
            integrations: &["payments", "unsplash"].map(Integration::new).into(),
            sub_orgs_enabled: false,
            team_coordination: false,
        },
        agent: AgentTools {
            standing: &standing,
            profile: Profile::Everything,
            policy: &policy,
            autonomy,
        },
        session: &SessionTools::new(Channel::Webchat),
    };
    resolve(built_in(), &facts)
}

/// A model that is never really asked.
struct Silent;

impl Model for Silent {
    fn answer(&self, _: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        stream::empty().boxed()
    }

    fn price(&self) -> ModelPrice {
        ModelPrice::new(Usd::default(), Usd::default())
    }
}

impl Models for Silent {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(Arc::new(Self))
    }
}

/// A set of one tool.
pub(crate) fn only(tools: Vec<Arc<dyn Tool>>) -> Arc<ToolSet> {
    Arc::new(ToolSet::new(tools).unwrap())
}

/// A context without a store.
pub(crate) fn nowhere() -> ToolContext {
    ToolContext {
        org: ORG,
        agent: AgentId::from_u128(1),
        session: None,
        contact: None,
        now: NOW,
        idempotency_key: "one".into(),
        pending: Arc::new([]),
    }
}
