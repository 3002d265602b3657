//! Asking a model: requests come out of a turn, since nothing else makes them.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::Authority;
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
use ostler_engine::outcome::Outcome;
use ostler_engine::tool::{Definition, Reply, Tool, ToolContext, ToolSet};
use ostler_engine::turn::{Action, Known, Limits, Models, NewTurn, Out, Rules, Turn};
use ostler_models::http::Http;
use serde_json::json;

use crate::fake::Fake;

pub(crate) const PRICE: ModelPrice = ModelPrice::new(Usd::from_dollars(1), Usd::from_dollars(2));

/// A tool that is offered, and never called here.
struct Weather(Definition);

impl Weather {
    fn new() -> Self {
        let spec = ToolSpec::read("get_weather".parse().unwrap(), ToolGroup::Web);
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        Self(Definition::new(spec, "Tells the weather.", schema))
    }
}

impl Tool for Weather {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, Reply> {
        Box::pin(async { Reply::Done(Outcome::ok("sunny")) })
    }
}

struct One;

impl Models for One {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(Arc::new(Fake::new([])))
    }
}

/// What a turn asks a model after this was said.
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
        kept_for_reading: Credits::ZERO,
        team: None,
    };
    let now = Timestamp::from_millis(0);
    let rules = Rules {
        scope: &scope,
        tools: &tools,
        require_approval_for: &BTreeSet::new(),
        authority: Authority::Conversation(AutonomyLevel::Autonomous),
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
        limits: Limits::default(),
        now,
    });
    let mut out = Out::default();
    turn.resume(&Known::default(), &rules, &mut out);
    match out.actions.pop() {
        Some((_, Action::CallModel { request, .. })) => request,
        other => panic!("the turn wants {other:?}"),
    }
}

/// What a turn asks a model at its start.
pub(crate) fn request() -> Request {
    request_after(vec![Item::user("Hello?")])
}

pub(crate) fn http() -> Http {
    Http::new(ostler_models::http::Limits::default()).unwrap()
}

/// All that a model answers, and how it failed, if it did.
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
