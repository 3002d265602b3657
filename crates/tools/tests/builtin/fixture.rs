//! Two orgs in a store, and a turn that calls tools through the gate.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::gate::GateRules;
use ostler_domain::id::{AgentId, ContactId, OrgId, RecordId};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::catalogue::built_in;
use ostler_domain::tool::profile::ToolProfile;
use ostler_domain::tool::{Audience, Integration, Trust};
use ostler_engine::extensions::Extensions;
use ostler_engine::history::{CallId, Item};
use ostler_engine::model::{Chunk, Model, ModelError, Request, StopReason};
use ostler_engine::outcome::{OutcomeStatus, ToolEffect, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolReply, ToolSet};
use ostler_engine::turn::{
    Decision, Input, Models, NewTurn, Question, QuestionKind, Turn, TurnAction, TurnLimits,
    TurnOutput, TurnRules,
};
use ostler_store::Store;
use ostler_testkit::{TestDatabase, org};
use ostler_tools::effects::{self, EffectError, StoreEffect};
use ostler_tools::records::Entity;
use serde_json::Value;

/// 15 November 2026, 13:00 in UTC, which is 14:00 in Rome.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_794_747_600_000);
pub(crate) const ORG: OrgId = OrgId::from_u128(1);
pub(crate) const OTHER_ORG: OrgId = OrgId::from_u128(2);

/// A store with two orgs, and an agent of the first.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    tools: Arc<ToolSet>,
    /// The uncommitted effects of the turn.
    pub(crate) pending: Vec<ToolEffect>,
    pub(crate) contact: Option<ContactId>,
    pub(crate) audience: Audience,
    calls: u32,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let store = TestDatabase::sqlite_memory().migrated().await;
        for (id, slug) in [(ORG, "rome"), (OTHER_ORG, "other")] {
            store.create_org(org(id, slug)).await.unwrap();
        }
        let tools = ostler_tools::catalogue::store_tools(store.clone());
        let tools = Arc::new(ToolSet::new(tools).unwrap());
        Self {
            store,
            tools,
            pending: Vec::new(),
            contact: None,
            audience: Audience::Staff,
            calls: 0,
        }
    }

    /// Stores a record of an org.
    pub(crate) async fn put<E: Entity>(&self, org: OrgId, id: u128, entity: &E) -> RecordId {
        self.put_as(org, E::KIND, id, &entity.to_json().unwrap()).await
    }

    pub(crate) async fn put_as(&self, org: OrgId, kind: &str, id: u128, data: &str) -> RecordId {
        let id = RecordId::from_u128(id);
        self.store.org(org).create_record(kind, id, data.to_owned()).await.unwrap();
        id
    }

    /// Calls a tool in the same turn as the previous calls.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> ToolOutcome {
        self.call_as(AutonomyLevel::Autonomous, tool, arguments).await.1
    }

    /// Calls a tool at a level of autonomy. Returns the approval questions first.
    pub(crate) async fn call_as(
        &mut self,
        level: AutonomyLevel,
        tool: &str,
        arguments: Value,
    ) -> (Vec<Question>, ToolOutcome) {
        self.calls += 1;
        let context = ToolContext {
            org: ORG,
            agent: AgentId::from_u128(1),
            session: None,
            contact: self.contact,
            audience: self.audience,
            now: NOW,
            idempotency_key: format!("call {}", self.calls),
            pending: self.pending.clone().into(),
            extensions: Extensions::default(),
        };
        let (questions, outcome) = call_as(level, &self.tools, &context, tool, &arguments).await;
        self.pending.extend(outcome.effects.iter().cloned());
        (questions, outcome)
    }

    /// Calls a tool that must succeed, and returns its JSON answer.
    pub(crate) async fn call_json(&mut self, tool: &str, arguments: Value) -> Value {
        let outcome = self.call(tool, arguments).await;
        assert_eq!(outcome.status, OutcomeStatus::Ok, "{tool}: {}", outcome.content);
        serde_json::from_str(&outcome.content)
            .unwrap_or_else(|_| panic!("{tool}: {}", outcome.content))
    }

    /// Calls a tool and returns its status and text.
    pub(crate) async fn call_text(
        &mut self,
        tool: &str,
        arguments: Value,
    ) -> (OutcomeStatus, String) {
        let outcome = self.call(tool, arguments).await;
        (outcome.status, outcome.content)
    }

    /// Stores the uncommitted effects, as the commit of the turn does.
    pub(crate) async fn commit(&mut self) -> Result<(), EffectError> {
        let pending = std::mem::take(&mut self.pending);
        let effects: Vec<StoreEffect> =
            pending.iter().map(|effect| effect.try_into().unwrap()).collect();
        effects::apply(&self.store.org(ORG), &effects).await
    }
}

/// Runs one tool as a turn does: a model calls it, the gate allows it, and the outcome
/// for the model is returned.
pub(crate) async fn call(
    tools: &Arc<ToolSet>,
    context: &ToolContext,
    tool: &str,
    arguments: &Value,
) -> ToolOutcome {
    call_as(AutonomyLevel::Autonomous, tools, context, tool, arguments).await.1
}

/// Runs one tool at a level of autonomy and approves every question. Returns the
/// questions first.
pub(crate) async fn call_as(
    level: AutonomyLevel,
    tools: &Arc<ToolSet>,
    context: &ToolContext,
    tool: &str,
    arguments: &Value,
) -> (Vec<Question>, ToolOutcome) {
    let scope = scope(level);
    let no_tools = BTreeSet::new();
    let rules = TurnRules {
        scope: &scope,
        tools,
        require_approval_for: &no_tools,
        authority: GateRules::Conversation(level),
        errors: ErrorPolicy::default(),
        models: &StubModel,
        now: NOW,
    };
    let mut turn = Turn::new(new_turn());
    turn.resume(&Default::default(), &rules, &mut TurnOutput::default());
    let chunks = [
        Chunk::Call { index: 0, id: "c".into(), name: tool.into() },
        Chunk::Arguments { index: 0, json: arguments.to_string() },
        Chunk::Done(StopReason::ToolCalls),
    ];
    let mut out = TurnOutput::default();
    for chunk in chunks {
        turn.step(&[], Input::Chunk(chunk), &rules, &mut out).unwrap();
    }
    let questions: Vec<Question> =
        turn.questions().into_iter().map(|(_, question)| question).collect();
    for question in &questions {
        let QuestionKind::Approval { arguments, .. } = question.kind else { continue };
        assert!(out.actions.is_empty(), "nothing runs before it is approved");
        let approval = Input::Decision(
            question.call.id.clone(),
            Decision::Approve { seen: arguments, arguments: None },
        );
        turn.step(&[], approval, &rules, &mut out).unwrap();
    }
    let mut effects = Vec::new();
    for (_, action) in out.actions {
        if let TurnAction::Run { call, .. } = action {
            let reply = tools.get(tool).unwrap().call(&call, context).await;
            if let ToolReply::Done(outcome) = &reply {
                effects.clone_from(&outcome.effects);
            }
            let input = Input::Reply(CallId::new("c"), reply);
            turn.step(&[], input, &rules, &mut TurnOutput::default()).unwrap();
        }
    }
    let results = turn.new_items().iter().find_map(|item| match item {
        Item::Results { results } => results.first(),
        _ => None,
    });
    // The turn keeps effects apart from the result for the model.
    (questions, ToolOutcome { effects, ..results.expect("the call has a result").outcome.clone() })
}

fn new_turn() -> NewTurn {
    let credits = Credits::new(1000);
    NewTurn {
        system: "".into(),
        history: vec![Item::user("go")],
        approved: None,
        trust: Trust::Trusted,
        budget: TurnBudget {
            reserved: credits,
            top_up: credits,
            session: credits,
            subagent: None,
            read_reserve: Credits::ZERO,
            team: None,
        },
        errors: ErrorState::default(),
        limits: TurnLimits::default(),
        now: NOW,
    }
}

fn scope(autonomy: AutonomyLevel) -> ToolScope {
    let position = BusinessPosition::of(&org(ORG, "rome"), &Subtype::Pm);
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
            position: &position,
            profile: ToolProfile::Everything,
            policy: &policy,
            autonomy,
        },
        session: &SessionTools::new(Channel::Webchat, Audience::Staff),
    };
    resolve(built_in(), &facts)
}

/// A model that is never called.
struct StubModel;

impl Model for StubModel {
    fn answer(&self, _: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        stream::empty().boxed()
    }

    fn price(&self) -> ModelPrice {
        ModelPrice::new(Usd::default(), Usd::default())
    }
}

impl Models for StubModel {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(Arc::new(Self))
    }
}

/// Makes a set of tools.
pub(crate) fn tool_set(tools: Vec<Arc<dyn Tool>>) -> Arc<ToolSet> {
    Arc::new(ToolSet::new(tools).unwrap())
}

/// A context without a session, contact or earlier effects.
pub(crate) fn bare_context() -> ToolContext {
    ToolContext {
        org: ORG,
        agent: AgentId::from_u128(1),
        session: None,
        contact: None,
        audience: Audience::Staff,
        now: NOW,
        idempotency_key: "one".into(),
        pending: Arc::new([]),
        extensions: Extensions::default(),
    }
}
