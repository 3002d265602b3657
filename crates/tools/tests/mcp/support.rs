//! Starts servers and passes calls through the gate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use ostler_domain::gate::GateRules;
use ostler_domain::gate::permission::{PermissionFacts, PermissionRules, SessionGrants};
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, Trust};
use ostler_engine::extensions::Extensions;
use ostler_engine::gate::Authorized;
use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, Model, ModelError, Request, StopReason};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolReply, ToolSet};
use ostler_engine::turn::{
    Input, KnownOutcomes, Models, NewTurn, Turn, TurnAction, TurnEvent, TurnLimits, TurnOutput,
    TurnRules,
};
use ostler_tools::mcp::{McpServerConfig, McpServers, McpStdioServer, McpTransport};
use serde_json::{Value, json};

/// Longer than any test takes; a test that hangs fails.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the folder of npm packages, which are installed on first use.
fn npm_folder() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join("scripts/install-npm")).output().expect("the script runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a path").trim_end().into()
}

/// Returns the path of Node.js.
pub(crate) fn node() -> String {
    npm_folder().join("node").to_str().expect("a path").to_owned()
}

/// Returns the path of the reference server's script.
pub(crate) fn reference_server_script() -> String {
    let path = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    npm_folder().join(path).to_str().expect("a path").to_owned()
}

/// Configures a stdio server.
pub(crate) fn stdio(name: &str, server: McpStdioServer) -> McpServerConfig {
    McpServerConfig::new(name.parse().expect("a name"), McpTransport::Stdio(server))
}

/// Starts one server and waits until it is ready or has failed.
pub(crate) async fn start(config: McpServerConfig) -> McpServers {
    let servers = McpServers::start(vec![config]);
    within(servers.ready()).await;
    servers
}

/// Awaits a future with the time limit of a test.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, future).await.expect("it took too long")
}

/// Waits until a condition holds for the servers.
pub(crate) async fn until(
    servers: &McpServers,
    state: &str,
    condition: impl Fn(&McpServers) -> bool,
) {
    let mut changed = servers.changes();
    let wait = async {
        while !condition(servers) {
            changed.changed().await.expect("the servers are there");
        }
    };
    let waited = tokio::time::timeout(TEST_TIMEOUT, wait).await;
    assert!(waited.is_ok(), "not {state}: {:?}, {:?}", names(servers), problems(servers));
}

pub(crate) fn names(servers: &McpServers) -> Vec<String> {
    servers.tools().iter().map(|tool| tool.definition().spec.name.to_string()).collect()
}

pub(crate) fn problems(servers: &McpServers) -> Vec<String> {
    servers.problems().iter().map(ToString::to_string).collect()
}

pub(crate) fn tool(servers: &McpServers, name: &str) -> Arc<dyn Tool> {
    let found =
        servers.tools().into_iter().find(|tool| tool.definition().spec.name.as_str() == name);
    found.unwrap_or_else(|| panic!("there is no {name} among {:?}", names(servers)))
}

/// Calls a tool as a turn does.
pub(crate) async fn call(servers: &McpServers, name: &str, arguments: Value) -> ToolOutcome {
    call_tool(&tool(servers, name), &arguments).await
}

pub(crate) async fn call_tool(tool: &Arc<dyn Tool>, arguments: &Value) -> ToolOutcome {
    let fixture = TurnFixture::new(vec![tool.clone()]);
    let mut turn = fixture.turn();
    let name = tool.definition().spec.name.to_string();
    let authorized = fixture.model_calls(&mut turn, "c1", &name, arguments).authorized();
    within(run(tool, &authorized)).await
}

/// Runs a call that has passed the gate.
pub(crate) async fn run(tool: &Arc<dyn Tool>, call: &Authorized) -> ToolOutcome {
    match tool.call(call, &context()).await {
        ToolReply::Done(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

fn context() -> ToolContext {
    ToolContext {
        org: OrgId::from_u128(1),
        agent: AgentId::from_u128(2),
        session: None,
        contact: None,
        audience: Audience::Staff,
        now: Timestamp::from_millis(0),
        idempotency_key: "key".to_owned(),
        pending: Arc::new([]),
        extensions: Extensions::default(),
    }
}

/// A turn in which every call is allowed unless the gate asks a person.
pub(crate) struct TurnFixture {
    tools: Arc<ToolSet>,
    scope: ToolScope,
}

/// The output of a turn after a model's call.
pub(crate) struct CallOutput(pub(crate) TurnOutput);

impl CallOutput {
    /// Returns the call that the gate allowed.
    pub(crate) fn authorized(self) -> Authorized {
        let run = self.0.actions.into_iter().find_map(|(_, action)| match action {
            TurnAction::Run { call, .. } => Some(call),
            _ => None,
        });
        run.unwrap_or_else(|| panic!("nothing runs: {:?}", self.0.events))
    }

    /// Returns whether the gate asks a person first.
    pub(crate) fn asks_approval(&self) -> bool {
        self.0.events.iter().any(|(_, event)| matches!(event, TurnEvent::Asked(_)))
    }
}

impl TurnFixture {
    pub(crate) fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let active =
            |tool: &Arc<dyn Tool>| json!({"spec": tool.definition().spec, "removed": null});
        let scope = json!({"tools": tools.iter().map(active).collect::<Vec<_>>()});
        let tools = Arc::new(ToolSet::new(tools).expect("tools that can be offered"));
        Self { tools, scope: serde_json::from_value(scope).expect("a scope") }
    }

    pub(crate) fn turn(&self) -> Turn {
        let credits = Credits::new(1000);
        let mut turn = Turn::new(NewTurn {
            system: "".into(),
            history: vec![Item::user("Do it.")],
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
            now: Timestamp::from_millis(0),
        });
        self.with_rules(|rules| {
            turn.resume(&KnownOutcomes::new(), rules, &mut TurnOutput::default());
        });
        turn
    }

    /// Lets the model call a tool.
    pub(crate) fn model_calls(
        &self,
        turn: &mut Turn,
        id: &str,
        name: &str,
        arguments: &Value,
    ) -> CallOutput {
        let json = arguments.to_string();
        let (id, name) = (id.to_owned(), name.to_owned());
        let mut out = TurnOutput::default();
        for chunk in [
            Chunk::Call { index: 0, id, name },
            Chunk::Arguments { index: 0, json },
            Chunk::Done(StopReason::ToolCalls),
        ] {
            self.step(turn, Input::Chunk(chunk), &mut out);
        }
        CallOutput(out)
    }

    pub(crate) fn step(&self, turn: &mut Turn, input: Input, out: &mut TurnOutput) {
        self.with_rules(|rules| turn.step(&[], input, rules, out)).expect("the turn waits for it");
    }

    fn with_rules<T>(&self, act: impl FnOnce(&TurnRules<'_>) -> T) -> T {
        let (rules, grants) = (PermissionRules::default(), SessionGrants::default());
        let facts = PermissionFacts { yolo: true, rules: &rules, grants: &grants };
        act(&TurnRules {
            scope: &self.scope,
            tools: &self.tools,
            require_approval_for: &BTreeSet::new(),
            authority: GateRules::Interactive(&facts),
            errors: ErrorPolicy::default(),
            models: &StubModel,
            now: Timestamp::from_millis(0),
        })
    }
}

/// A model that is never called; the tests provide its output.
struct StubModel;

impl Model for StubModel {
    fn answer(&self, _: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        stream::empty().boxed()
    }

    fn price(&self) -> ModelPrice {
        ModelPrice::new(Usd::from_micros(0), Usd::from_micros(0))
    }
}

impl Models for StubModel {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(Arc::new(Self))
    }
}
