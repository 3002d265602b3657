//! Models, tools and a host for tests.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::GateRules;
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, PricedUnits, ToolGroup, ToolName, ToolSpec, Trust};
use ostler_engine::driver::{Driver, Host, Intent, TurnCommands, TurnContext, TurnProgress};
use ostler_engine::gate::{Authorized, fingerprint};
use ostler_engine::history::{CallId, Content, Item};
use ostler_engine::model::{Chunk, Model, ModelError, Request, StopReason, Usage};
use ostler_engine::outcome::{ToolEffect, ToolOutcome};
use ostler_engine::tool::{
    SubagentTask, Tool, ToolContext, ToolDefinition, ToolReply, ToolSet, UserQuestion,
};
use ostler_engine::turn::{
    AgentPath, ApprovalMode, Decision, FollowUp, KnownOutcomes, Models, NewTurn, Question, Turn,
    TurnEvent, TurnLimits, TurnRules,
};
use serde_json::json;

/// The answer to one request.
pub(crate) type AnswerChunks = Vec<Result<Chunk, ModelError>>;

/// Creates an answer of text only.
pub(crate) fn words(text: &str) -> AnswerChunks {
    vec![
        Ok(Chunk::Text(text.to_owned())),
        Ok(Chunk::Usage(Usage { input: 10, output: 5, cached: 0, written: 0 })),
        Ok(Chunk::Done(StopReason::End)),
    ]
}

/// Creates an answer of calls, each with an id, a tool and the text of its
/// arguments.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> AnswerChunks {
    let mut said: AnswerChunks = Vec::new();
    for (index, (id, name, json)) in (0_u32..).zip(calls) {
        let (id, name) = ((*id).to_owned(), (*name).to_owned());
        said.push(Ok(Chunk::Call { index, id, name }));
        said.push(Ok(Chunk::Arguments { index, json: (*json).to_owned() }));
    }
    said.push(Ok(Chunk::Usage(Usage { input: 10, output: 5, cached: 0, written: 0 })));
    said.push(Ok(Chunk::Done(StopReason::ToolCalls)));
    said
}

/// A model that gives these answers in order, and then `fine`.
#[derive(Clone)]
pub(crate) struct FakeModel {
    said: Arc<Mutex<VecDeque<AnswerChunks>>>,
    pub(crate) asked: Arc<Mutex<Vec<Request>>>,
    /// Whether the stream stays open after its last chunk.
    hangs: bool,
}

impl FakeModel {
    pub(crate) fn new(said: impl IntoIterator<Item = AnswerChunks>) -> Self {
        let said = Arc::new(Mutex::new(said.into_iter().collect()));
        Self { said, asked: Arc::default(), hangs: false }
    }

    /// Creates a model whose streams stay open.
    pub(crate) fn hanging(said: impl IntoIterator<Item = AnswerChunks>) -> Self {
        Self { hangs: true, ..Self::new(said) }
    }

    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for FakeModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        self.asked.lock().unwrap().push(request);
        let said = self.said.lock().unwrap().pop_front().unwrap_or_else(|| words("fine"));
        let said = stream::iter(said);
        if self.hangs { said.chain(stream::pending()).boxed() } else { said.boxed() }
    }

    fn price(&self) -> ModelPrice {
        ModelPrice::new(Usd::from_dollars(3), Usd::from_dollars(15))
    }
}

impl Models for FakeModel {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        (name != Some("missing")).then(|| Arc::new(self.clone()) as Arc<dyn Model>)
    }
}

/// A tool with a function as its body.
struct Simple {
    definition: ToolDefinition,
    does: fn(&Authorized, &ToolContext) -> BoxFuture<'static, ToolReply>,
}

impl Tool for Simple {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        (self.does)(call, context)
    }
}

fn now(reply: ToolReply) -> BoxFuture<'static, ToolReply> {
    std::future::ready(reply).boxed()
}

fn said(call: &Authorized) -> String {
    call.call().arguments["text"].as_str().unwrap_or("nothing").to_owned()
}

/// The tools given to subagents.
pub(crate) const FOR_SUBAGENTS: [&str; 7] =
    ["ask_user", "assistant", "look", "pay", "subagent", "submit_plan", "web"];

/// The steps that an assistant may take.
const ASSISTANT_STEPS: u32 = 2;
/// What an assistant may spend.
const ASSISTANT_CREDITS: Credits = Credits::new(4);

pub(crate) fn tools() -> Arc<ToolSet> {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "maxLength": 100},
            "to": {"type": "array"},
            "limit": {"type": "integer"},
        },
        "additionalProperties": false,
    });
    let tool = |spec: ToolSpec, does| {
        let mut definition = ToolDefinition::new(spec, "A tool of tests.", schema.clone());
        definition.timeout = Duration::from_secs(5);
        definition.max_output = 1000;
        Arc::new(Simple { definition, does }) as Arc<dyn Tool>
    };
    let name = ToolName::from_static;
    let read = |n| ToolSpec::read(name(n), ToolGroup::Custom);
    let write = |n| ToolSpec::write(name(n), ToolGroup::Custom);
    let control = |n| ToolSpec::control(name(n), ToolGroup::Custom);
    let all = [
        tool(read("look"), |call, _| now(ToolReply::Done(ToolOutcome::ok(said(call))))),
        tool(read("web").untrusted(), |_, _| now(ToolReply::Done(ToolOutcome::ok("a page")))),
        tool(write("note"), |call, context| {
            let effect = ToolEffect { kind: "note".into(), data: said(call).into() };
            let before = context.pending.len();
            now(ToolReply::Done(ToolOutcome::ok(format!("{before} before")).with_effect(effect)))
        }),
        tool(write("slow_note"), |call, context| {
            let effect = ToolEffect { kind: "note".into(), data: said(call).into() };
            let before = context.pending.len();
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                ToolReply::Done(ToolOutcome::ok(format!("{before} before")).with_effect(effect))
            }
            .boxed()
        }),
        tool(write("pay").external().destructive().priced(2), |_, context| {
            now(ToolReply::Done(ToolOutcome::ok(context.idempotency_key.clone())))
        }),
        tool(write("mail").priced(2).per_unit(by_recipient()), |call, _| {
            let to = call.call().arguments["to"].as_array().map_or(0, Vec::len);
            let sent = u32::try_from(to).unwrap().saturating_sub(1);
            now(ToolReply::Done(ToolOutcome::ok(format!("{sent} sent")).using(sent)))
        }),
        tool(write("slow_mail").priced(2).per_unit(by_recipient()), |_, _| {
            std::future::pending().boxed()
        }),
        tool(read("broken"), |_, _| now(ToolReply::Done(ToolOutcome::failed("out of order")))),
        tool(read("panics"), |_, _| async { panic!("a tool broke down") }.boxed()),
        tool(read("slow"), |_, _| std::future::pending().boxed()),
        tool(write("slow_pay").external(), |_, _| std::future::pending().boxed()),
        tool(read("long"), |_, _| now(ToolReply::Done(ToolOutcome::ok("x".repeat(5000))))),
        tool(control("ask_user"), |call, _| {
            now(ToolReply::Ask(UserQuestion::Question { question: said(call), options: vec![] }))
        }),
        tool(control("submit_plan"), |call, _| {
            now(ToolReply::Ask(UserQuestion::Plan { title: None, plan: said(call) }))
        }),
        tool(control("leave"), |call, _| {
            now(ToolReply::Done(ToolOutcome::ok(said(call)).ending_turn()))
        }),
        tool(control("subagent"), |call, _| now(ToolReply::Delegate(explore(call, false)))),
        tool(control("fork"), |call, _| now(ToolReply::Delegate(explore(call, true)))),
        tool(control("assistant"), |call, _| now(ToolReply::Delegate(assist(call)))),
    ];
    Arc::new(ToolSet::new(all).unwrap())
}

/// What the tools that write to many are priced by.
fn by_recipient() -> PricedUnits {
    let [name, list, limit] = ["recipient", "to", "limit"].map(str::to_owned);
    PricedUnits { name, list, limit, default_limit: 10, max: 1000 }
}

fn explore(call: &Authorized, forked: bool) -> SubagentTask {
    SubagentTask {
        agent_type: "explore".into(),
        model: None,
        system: "You explore.".into(),
        task: said(call),
        forked,
        tools: FOR_SUBAGENTS.map(ToolName::from_static).into(),
        own_tools: Vec::new(),
        max_steps: None,
        max_credits: None,
    }
}

/// A subagent that is to have a tool more than the others.
fn assist(call: &Authorized) -> SubagentTask {
    let mut task = explore(call, false);
    task.tools.push(ToolName::from_static("note"));
    SubagentTask {
        agent_type: "assist".into(),
        max_steps: Some(ASSISTANT_STEPS),
        max_credits: Some(ASSISTANT_CREDITS),
        ..task
    }
}

/// A host that keeps everything in memory.
#[derive(Default)]
pub(crate) struct MemoryHost {
    pub(crate) events: Mutex<Vec<(AgentPath, TurnEvent)>>,
    /// The turn as stored before each external call, and the calls.
    pub(crate) stored: Mutex<Vec<(String, Vec<Intent>)>>,
    pub(crate) outcomes: Mutex<KnownOutcomes>,
    pub(crate) more: Mutex<Vec<Credits>>,
    /// The credits available for top-ups.
    pub(crate) spare: Mutex<u64>,
    pub(crate) fails: bool,
}

impl MemoryHost {
    pub(crate) fn events(&self) -> Vec<TurnEvent> {
        self.events.lock().unwrap().iter().map(|(_, event)| event.clone()).collect()
    }
}

impl Host for MemoryHost {
    type Error = &'static str;

    async fn checkpoint(&self, turn: &Turn, intents: &[Intent]) -> Result<(), Self::Error> {
        if self.fails {
            return Err("the disk is full");
        }
        self.stored.lock().unwrap().push((turn.store().unwrap(), intents.to_vec()));
        Ok(())
    }

    async fn store_outcome(
        &self,
        path: &AgentPath,
        call: &CallId,
        outcome: &ToolOutcome,
    ) -> Result<(), Self::Error> {
        self.outcomes.lock().unwrap().insert((path.clone(), call.clone()), outcome.clone());
        Ok(())
    }

    async fn top_up(&self, more: Credits) -> Credits {
        self.more.lock().unwrap().push(more);
        let mut spare = self.spare.lock().unwrap();
        if *spare < more.get() {
            return Credits::ZERO;
        }
        *spare -= more.get();
        more
    }

    fn on_event(&self, path: &AgentPath, event: &TurnEvent) {
        self.events.lock().unwrap().push((path.clone(), event.clone()));
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1000)
    }
}

/// Everything a turn runs with.
pub(crate) struct TurnSetup {
    pub(crate) model: FakeModel,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) scope: ToolScope,
    pub(crate) ask_for: BTreeSet<ToolName>,
    pub(crate) autonomy: AutonomyLevel,
    pub(crate) host: MemoryHost,
    pub(crate) place: TurnContext,
}

impl TurnSetup {
    /// Creates an autonomous agent.
    pub(crate) fn new(said: impl IntoIterator<Item = AnswerChunks>) -> Self {
        Self::of(FakeModel::new(said))
    }

    pub(crate) fn of(model: FakeModel) -> Self {
        let tools = tools();
        let scope = ToolScope::unrestricted(tools.specs().cloned());
        Self {
            model,
            tools,
            scope,
            ask_for: BTreeSet::new(),
            autonomy: AutonomyLevel::Autonomous,
            host: MemoryHost { spare: Mutex::new(1000), ..MemoryHost::default() },
            place: TurnContext {
                org: OrgId::from_u128(1),
                agent: AgentId::from_u128(2),
                session: None,
                contact: None,
                audience: Audience::Staff,
                idempotency_prefix: "run".into(),
                timeout: Duration::from_secs(600),
            },
        }
    }

    pub(crate) fn supervised(said: impl IntoIterator<Item = AnswerChunks>) -> Self {
        Self { autonomy: AutonomyLevel::Supervised, ..Self::new(said) }
    }

    pub(crate) fn rules(&self) -> TurnRules<'_> {
        TurnRules {
            scope: &self.scope,
            tools: &self.tools,
            require_approval_for: &self.ask_for,
            authority: GateRules::Conversation(self.autonomy),
            errors: ErrorPolicy::default(),
            models: &self.model,
            now: Timestamp::from_millis(0),
        }
    }

    pub(crate) async fn drive(&self, turn: &mut Turn) -> TurnProgress {
        self.drive_with(turn, &KnownOutcomes::new(), &mut TurnCommands::none()).await
    }

    pub(crate) async fn drive_with(
        &self,
        turn: &mut Turn,
        known: &KnownOutcomes,
        commands: &mut TurnCommands,
    ) -> TurnProgress {
        let driver = Driver { context: &self.place, rules: self.rules(), host: &self.host };
        driver.drive(turn, known, commands).await.expect("the host stores")
    }
}

pub(crate) const AMPLE_BUDGET: TurnBudget = TurnBudget {
    reserved: Credits::new(1000),
    top_up: Credits::new(1000),
    session: Credits::new(10_000),
    subagent: None,
    read_reserve: Credits::ZERO,
    team: None,
};

pub(crate) fn new_turn(text: &str) -> NewTurn {
    NewTurn {
        system: "You help.".into(),
        history: vec![Item::user(text)],
        approved: None,
        trust: Trust::Trusted,
        budget: AMPLE_BUDGET,
        errors: ErrorState::default(),
        limits: TurnLimits::default(),
        now: Timestamp::from_millis(0),
    }
}

pub(crate) fn turn(text: &str) -> Turn {
    Turn::new(new_turn(text))
}

/// Approves the arguments of a question.
pub(crate) fn approve(question: &Question) -> Decision {
    let seen = fingerprint(&question.call.name, &question.call.arguments);
    Decision::Approve { seen, arguments: None }
}

pub(crate) fn follow_up(text: &str) -> FollowUp {
    FollowUp { content: vec![Content::text(text)], trust: Trust::Trusted }
}

/// Creates a turn of a customer conversation, in which approvals are deferred.
pub(crate) fn conversation(text: &str) -> Turn {
    let limits = TurnLimits { approval_mode: ApprovalMode::Defer, ..TurnLimits::default() };
    Turn::new(NewTurn { limits, ..new_turn(text) })
}

/// Summarizes a history: `user …`, `look(…)`, `= …`.
pub(crate) fn story(items: &[Item]) -> Vec<String> {
    let mut story = Vec::new();
    for item in items {
        match item {
            Item::User { content } => story.push(format!("user {}", content.len())),
            Item::Assistant { text, calls, partial } => {
                let mark = if *partial { "…" } else { "" };
                if !text.is_empty() {
                    story.push(format!("{text}{mark}"));
                }
                story.extend(calls.iter().map(|call| format!("{}{}", call.name, call.arguments)));
            }
            Item::Results { results } => story.extend(results.iter().map(|result| {
                let status = serde_json::to_value(result.outcome.status).unwrap();
                format!("= {} {}", status.as_str().unwrap(), result.outcome.content)
            })),
        }
    }
    story
}

/// Returns whether providers accept a history: every call has one result, in the
/// next entry and in order.
pub(crate) fn is_acceptable(items: &[Item], over: bool) -> bool {
    let mut ids = BTreeSet::new();
    let mut items = items.iter();
    while let Some(item) = items.next() {
        match item {
            Item::Results { .. } => return false,
            Item::Assistant { calls, .. } if !calls.is_empty() => match items.next() {
                Some(Item::Results { results }) => {
                    let asked = calls.iter().map(|call| &call.id);
                    let new = asked.clone().all(|id| ids.insert(id.clone()));
                    if !new || !asked.eq(results.iter().map(|result| &result.call)) {
                        return false;
                    }
                }
                Some(_) => return false,
                None => return !over,
            },
            Item::Assistant { text, .. } if text.trim().is_empty() => return false,
            Item::Assistant { .. } | Item::User { .. } => {}
        }
    }
    true
}
