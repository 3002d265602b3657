//! A model, tools and a host that cost as little as possible.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::GateRules;
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::prompt::history::WINDOW;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, ToolGroup, ToolName, ToolSpec, Trust};
use ostler_engine::driver::{Driver, TurnCommands, TurnContext, UnstoredHost};
use ostler_engine::gate::Authorized;
use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, Model, ModelError, Request, StopReason, Usage};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{SubagentTask, Tool, ToolContext, ToolDefinition, ToolReply, ToolSet};
use ostler_engine::turn::{KnownOutcomes, Models, NewTurn, Turn, TurnLimits, TurnRules};
use serde_json::json;

use crate::BenchError;

/// The task of a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Task {
    Plain,
    Tool,
    Subagent,
}

impl Task {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "answer",
            Self::Tool => "look",
            Self::Subagent => "subagent",
        }
    }
}

/// Returns a history of `turns` turns.
pub(super) fn conversation(turns: usize) -> Vec<Item> {
    let turn = |n| [Item::user(format!("question {n}")), Item::assistant(format!("answer {n}"))];
    (0..turns).flat_map(turn).collect()
}

/// Calls the tool that the last message names, and answers once it has the result.
struct InstantModel;

impl Model for InstantModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let task = match request.history.last() {
            Some(Item::User { content }) => match content.first() {
                Some(ostler_engine::history::Content::Text { text }) => text.as_str(),
                _ => "",
            },
            _ => "",
        };
        let usage = Ok(Chunk::Usage(Usage { input: 100, output: 10, cached: 0, written: 0 }));
        let said = if request.tools.get(task).is_some() {
            vec![
                Ok(Chunk::Call { index: 0, id: "call".into(), name: task.to_owned() }),
                Ok(Chunk::Arguments { index: 0, json: r#"{"text":"answer"}"#.into() }),
                usage,
                Ok(Chunk::Done(StopReason::ToolCalls)),
            ]
        } else {
            let text = Ok(Chunk::Text("This is the answer to your question.".into()));
            vec![text, usage, Ok(Chunk::Done(StopReason::End))]
        };
        stream::iter(said).boxed()
    }

    fn price(&self) -> ModelPrice {
        ModelPrice::new(Usd::from_dollars(3), Usd::from_dollars(15))
    }
}

struct OneModel(Arc<dyn Model>);

impl Models for OneModel {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(self.0.clone())
    }
}

/// A tool that returns at once.
pub(crate) struct LookupTool {
    definition: ToolDefinition,
    calls: AtomicU64,
}

impl LookupTool {
    /// Returns how often it was called.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Tool for LookupTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(ToolReply::Done(ToolOutcome::ok("There it is."))))
    }
}

fn define(name: &'static str) -> ToolDefinition {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let spec = ToolSpec::read(ToolName::from_static(name), ToolGroup::Custom).for_customers();
    ToolDefinition::new(spec, "A tool of benchmarks.", schema)
}

/// Returns a tool that returns at once.
pub(crate) fn look() -> Arc<LookupTool> {
    Arc::new(LookupTool { definition: define("look"), calls: AtomicU64::new(0) })
}

/// Returns models that answer at once.
pub(crate) fn instant() -> Arc<dyn Models> {
    Arc::new(OneModel(Arc::new(InstantModel)))
}

/// Delegates to a subagent.
struct SubagentTool(ToolDefinition);

impl Tool for SubagentTool {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        let work = SubagentTask {
            agent_type: "explore".into(),
            model: None,
            system: "You explore.".into(),
            task: Task::Plain.name().into(),
            forked: false,
            tools: vec![ToolName::from_static("look")],
            own_tools: Vec::new(),
            max_steps: None,
            max_credits: None,
        };
        Box::pin(std::future::ready(ToolReply::Delegate(work)))
    }
}

/// Everything a turn needs.
pub(super) struct TurnSetup {
    tools: Arc<ToolSet>,
    scope: ToolScope,
    models: OneModel,
    ask_for: BTreeSet<ToolName>,
    place: TurnContext,
    system: Arc<str>,
}

impl TurnSetup {
    pub(super) fn new() -> Result<Self, BenchError> {
        let tools: [Arc<dyn Tool>; 2] = [look(), Arc::new(SubagentTool(define("subagent")))];
        let tools = Arc::new(ToolSet::new(tools)?);
        Ok(Self {
            scope: ToolScope::unrestricted(tools.specs().cloned()),
            tools,
            models: OneModel(Arc::new(InstantModel)),
            ask_for: BTreeSet::new(),
            place: TurnContext {
                org: OrgId::from_u128(1),
                agent: AgentId::from_u128(2),
                session: None,
                contact: None,
                audience: Audience::Staff,
                idempotency_prefix: "bench".into(),
                timeout: Duration::from_secs(60),
            },
            system: "You are a friendly agent who answers briefly. ".repeat(20).into(),
        })
    }

    /// Runs one turn.
    pub(super) async fn turn(&self, task: Task, conversation: &[Item]) {
        let mut history = Vec::with_capacity(WINDOW + 1);
        history.extend_from_slice(ostler_domain::prompt::history::window(conversation));
        history.push(Item::user(task.name()));
        let budget = TurnBudget {
            reserved: Credits::new(1000),
            top_up: Credits::new(1000),
            session: Credits::new(1000),
            subagent: None,
            read_reserve: Credits::ZERO,
            team: None,
        };
        let mut turn = Turn::new(NewTurn {
            system: self.system.clone(),
            history,
            approved: None,
            trust: Trust::Trusted,
            budget,
            errors: ErrorState::default(),
            limits: TurnLimits::default(),
            now: Timestamp::from_millis(0),
        });
        let rules = TurnRules {
            scope: &self.scope,
            tools: &self.tools,
            require_approval_for: &self.ask_for,
            authority: GateRules::Conversation(AutonomyLevel::Autonomous),
            errors: ErrorPolicy::default(),
            models: &self.models,
            now: Timestamp::from_millis(0),
        };
        let host = UnstoredHost(|| Timestamp::from_millis(0));
        let driver = Driver { context: &self.place, rules, host: &host };
        let progress =
            driver.drive(&mut turn, &KnownOutcomes::new(), &mut TurnCommands::none()).await;
        std::hint::black_box(progress.is_ok());
    }
}
