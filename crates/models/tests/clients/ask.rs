//! Requests for tests. They come out of a turn, because nothing else can create
//! them.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::GateRules;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolGroup, ToolSpec, Trust};
use ostler_engine::gate::Authorized;
use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, Model, ModelError, Request, StopReason};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply, ToolSet};
use ostler_engine::turn::{
    KnownOutcomes, Models, NewTurn, Turn, TurnAction, TurnLimits, TurnOutput, TurnRules,
};
use ostler_models::http::Http;
use serde_json::json;

use crate::fake::Fake;

pub(crate) const PRICE: ModelPrice = ModelPrice::new(Usd::from_dollars(1), Usd::from_dollars(2));

/// A tool that is offered but never called.
struct Weather(ToolDefinition);

impl Weather {
    fn new() -> Self {
        let spec = ToolSpec::read("get_weather".parse().unwrap(), ToolGroup::Web);
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        Self(ToolDefinition::new(spec, "Tells the weather.", schema))
    }
}

impl Tool for Weather {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        Box::pin(async { ToolReply::Done(ToolOutcome::ok("sunny")) })
    }
}

struct One;

impl Models for One {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(Arc::new(Fake::new([])))
    }
}

/// Returns the request of a turn with this history.
pub(crate) fn request_after(history: Vec<Item>) -> Request {
    let tool = Weather::new();
    let scope = json!({"tools": [{"spec": tool.0.spec, "removed": null}]});
    let scope: ToolScope = serde_json::from_value(scope).unwrap();
    let tools = Arc::new(ToolSet::new([Arc::new(tool) as Arc<dyn Tool>]).unwrap());
    let many = Credits::new(1_000_000);
    let budget = TurnBudget {
        reserved: many,
        top_up: Credits::ZERO,
        session: many,
        subagent: None,
        read_reserve: Credits::ZERO,
        team: None,
    };
    let now = Timestamp::from_millis(0);
    let rules = TurnRules {
        scope: &scope,
        tools: &tools,
        require_approval_for: &BTreeSet::new(),
        authority: GateRules::Conversation(AutonomyLevel::Autonomous),
        errors: ErrorPolicy::default(),
        models: &One,
        now,
    };
    let mut turn = Turn::new(NewTurn {
        system: "You are kind.".into(),
        history,
        approved: None,
        trust: Trust::Trusted,
        budget,
        errors: ErrorState::default(),
        limits: TurnLimits::default(),
        now,
    });
    let mut out = TurnOutput::default();
    turn.resume(&KnownOutcomes::default(), &rules, &mut out);
    match out.actions.pop() {
        Some((_, TurnAction::CallModel { request, .. })) => request,
        other => panic!("the turn wants {other:?}"),
    }
}

/// Returns the first request of a turn.
pub(crate) fn request() -> Request {
    request_after(vec![Item::user("Hello?")])
}

pub(crate) fn http() -> Http {
    Http::new(ostler_models::http::ClientLimits::default()).unwrap()
}

/// Collects an answer, and its error if it failed.
pub(crate) async fn ask(model: &dyn Model, request: Request) -> (Vec<Chunk>, Option<ModelError>) {
    let (mut chunks, mut pieces) = (Vec::new(), model.answer(request));
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(chunk) => chunks.push(chunk),
            Err(error) => {
                assert!(pieces.next().await.is_none(), "an error is the last");
                return (chunks, Some(error));
            }
        }
    }
    (chunks, None)
}

pub(crate) fn text(text: &str) -> Chunk {
    Chunk::Text(text.into())
}

pub(crate) fn call(index: u32, id: &str, name: &str) -> Chunk {
    Chunk::Call { index, id: id.into(), name: name.into() }
}

pub(crate) fn arguments(index: u32, json: &str) -> Chunk {
    Chunk::Arguments { index, json: json.into() }
}

pub(crate) const END: Chunk = Chunk::Done(StopReason::End);
pub(crate) const CALLS: Chunk = Chunk::Done(StopReason::ToolCalls);
