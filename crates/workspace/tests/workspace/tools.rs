//! The tools, called through the gate of a turn.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ostler_domain::gate::GateRules;
use ostler_domain::gate::permission::{PermissionFacts, PermissionRules, SessionGrants};
use ostler_domain::id::{AgentId, OrgId, SessionId};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, Reach, Risk, ToolCategory, Trust};
use ostler_engine::extensions::Extensions;
use ostler_engine::gate::Authorized;
use ostler_engine::history::{CallId, Item};
use ostler_engine::model::{Chunk, Model, ModelError, Request, StopReason};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolReply, ToolSet};
use ostler_engine::turn::{
    Input, KnownOutcomes, Models, NewTurn, Turn, TurnAction, TurnLimits, TurnOutput, TurnRules,
};
use ostler_workspace::sandbox::{CommandOutput, OutputStream};
use ostler_workspace::tools::{
    CommandListener, PerRequest, RequestExtension, WorkspaceProvider, WorkspaceTools,
};
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};
use serde_json::{Value, json};

use crate::support::{TestWorkspace, sandbox_options};

/// Calls a tool as a model would, in the given session.
async fn call_in(
    tools: Vec<Arc<dyn Tool>>,
    session: u128,
    name: &str,
    arguments: Value,
) -> ToolOutcome {
    call_with(tools, session, Extensions::default(), name, arguments).await
}

async fn call_with(
    tools: Vec<Arc<dyn Tool>>,
    session: u128,
    extensions: Extensions,
    name: &str,
    arguments: Value,
) -> ToolOutcome {
    let tool = tools.iter().find(|tool| tool.definition().spec.name.as_str() == name);
    let tool = tool.expect("a tool").clone();
    let call = authorized(tools, name, &arguments);
    let context = ToolContext {
        org: OrgId::from_u128(1),
        agent: AgentId::from_u128(1),
        session: Some(SessionId::from_u128(session)),
        contact: None,
        audience: Audience::Staff,
        now: Timestamp::from_millis(0),
        idempotency_key: "call".into(),
        pending: [].into(),
        extensions,
    };
    match tool.call(&call, &context).await {
        ToolReply::Done(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

/// Lets a turn authorize a call.
fn authorized(tools: Vec<Arc<dyn Tool>>, name: &str, arguments: &Value) -> Authorized {
    let active = |tool: &Arc<dyn Tool>| json!({"spec": tool.definition().spec, "removed": null});
    let scope = json!({"tools": tools.iter().map(active).collect::<Vec<_>>()});
    let scope: ToolScope = serde_json::from_value(scope).expect("a scope");
    let tools = Arc::new(ToolSet::new(tools).expect("tools that can be offered"));
    let (rules, grants) = (PermissionRules::default(), SessionGrants::default());
    let facts = PermissionFacts { yolo: true, rules: &rules, grants: &grants };
    let rules = TurnRules {
        scope: &scope,
        tools: &tools,
        require_approval_for: &BTreeSet::new(),
        authority: GateRules::Interactive(&facts),
        errors: ErrorPolicy::default(),
        models: &StubModel,
        now: Timestamp::from_millis(0),
    };
    let credits = Credits::new(1000);
    let budget = TurnBudget {
        reserved: credits,
        top_up: credits,
        session: credits,
        subagent: None,
        read_reserve: Credits::ZERO,
        team: None,
    };
    let mut turn = Turn::new(NewTurn {
        system: "".into(),
        history: vec![Item::user("Do it.")],
        approved: None,
        trust: Trust::Trusted,
        budget,
        errors: ErrorState::default(),
        limits: TurnLimits::default(),
        now: Timestamp::from_millis(0),
    });
    let mut output = TurnOutput::default();
    turn.resume(&KnownOutcomes::new(), &rules, &mut output);
    for chunk in [
        Chunk::Call { index: 0, id: "call-1".into(), name: name.into() },
        Chunk::Arguments { index: 0, json: arguments.to_string() },
        Chunk::Done(StopReason::ToolCalls),
    ] {
        turn.step(&[], Input::Chunk(chunk), &rules, &mut output).expect("the turn waits for it");
    }
    let run = output.actions.into_iter().find_map(|(_, action)| match action {
        TurnAction::Run { call, .. } => Some(call),
        _ => None,
    });
    run.unwrap_or_else(|| panic!("nothing runs: {:?}", output.events))
}

/// A model that is never asked.
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

async fn call(test: &TestWorkspace, name: &str, arguments: Value) -> (OutcomeStatus, String) {
    let provider: Arc<dyn WorkspaceProvider> = Arc::new(test.workspace.clone());
    let outcome = call_in(WorkspaceTools::new(provider).into_tools(), 1, name, arguments).await;
    (outcome.status, outcome.content)
}

#[test]
fn m36_the_tools_are_what_policy_needs_to_know() {
    let test = TestWorkspace::new();
    let tools = WorkspaceTools::new(Arc::new(test.workspace.clone())).into_tools();
    ToolSet::new(tools.clone()).expect("valid schemas");
    let facts: Vec<_> = tools
        .iter()
        .map(|tool| {
            let definition = tool.definition();
            let spec = &definition.spec;
            (
                spec.name.as_str().to_owned(),
                spec.category,
                spec.risk,
                spec.reach,
                definition.idempotent,
            )
        })
        .collect();
    let tool = |name: &str, category, risk, reach, idempotent| {
        (name.to_owned(), category, risk, reach, idempotent)
    };
    use ToolCategory::{Edit, Execute, Read};
    let expected = [
        tool("read_file", Read, Risk::Read, Reach::Local, true),
        tool("list_files", Read, Risk::Read, Reach::Local, true),
        tool("search_files", Read, Risk::Read, Reach::Local, true),
        tool("write_file", Edit, Risk::Write, Reach::External, true),
        tool("edit_file", Edit, Risk::Write, Reach::External, false),
        tool("apply_patch", Edit, Risk::Write, Reach::External, false),
        tool("run_command", Execute, Risk::Destructive, Reach::External, false),
    ];
    assert_eq!(facts, expected);
}

#[tokio::test]
async fn m36_tools_read_and_change_files() {
    use OutcomeStatus::{Invalid, NotFound, Ok, Refused};
    let test = TestWorkspace::new();
    let check = async |name: &str, arguments: Value, status, content: &str| {
        assert_eq!(call(&test, name, arguments).await, (status, content.to_owned()), "{name}");
    };
    let wrote = "Wrote src/a.rs: 2 lines added, 0 removed.";
    check("write_file", json!({"path": "src/a.rs", "content": "one\ntwo\n"}), Ok, wrote).await;
    check("read_file", json!({"path": "src/a.rs"}), Ok, "    1  one\n    2  two\n").await;
    let more = "    1  one\n[There is more: continue with first_line 2]";
    check("read_file", json!({"path": "src/a.rs", "lines": 1}), Ok, more).await;
    check(
        "read_file",
        json!({"path": "src/a.rs", "first_line": 9}),
        Ok,
        "The file has fewer than 9 lines.",
    )
    .await;
    check("list_files", json!({}), Ok, "src/\nsrc/a.rs").await;
    check("list_files", json!({"pattern": "*.py"}), Ok, "There are no files.").await;
    check("search_files", json!({"pattern": "t.o"}), Ok, "src/a.rs:2: two").await;
    check("search_files", json!({"pattern": "zzz"}), Ok, "Nothing was found.").await;
    let diff = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    let edit = json!({"path": "src/a.rs", "old_text": "two", "new_text": "2"});
    check("edit_file", edit.clone(), Ok, diff).await;
    check("edit_file", edit, NotFound, "The text to replace is not in `src/a.rs`.").await;
    let patch = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-one\n+1\n";
    let applied = "The patch was applied.\nsrc/a.rs: 1 lines added, 1 removed";
    check("apply_patch", json!({"patch": patch}), Ok, applied).await;
    assert_eq!(test.get("src/a.rs").as_deref(), Some("1\n2\n"));
    check("read_file", json!({"path": "x"}), NotFound, "`x` does not exist.").await;
    let outside = "`../outside/secret.txt` leads out of the workspace.";
    check("read_file", json!({"path": "../outside/secret.txt"}), Refused, outside).await;
    let (status, _) = call(&test, "search_files", json!({"pattern": "("})).await;
    assert_eq!(status, Invalid);
}

/// A listener that keeps what it gets.
#[derive(Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl CommandListener for Recorder {
    fn listen(&self, call: &CallId, _: &ToolContext) -> Arc<dyn CommandOutput> {
        Arc::new(CallRecorder { call: call.to_string(), pieces: self.0.clone() })
    }
}

struct CallRecorder {
    call: String,
    pieces: Arc<Mutex<Vec<String>>>,
}

impl CommandOutput for CallRecorder {
    fn write(&self, stream: OutputStream, bytes: &[u8]) {
        let text = format!("{} {stream:?} {}", self.call, String::from_utf8_lossy(bytes));
        self.pieces.lock().expect("the list").push(text);
    }
}

#[tokio::test]
async fn m36_run_command_streams_and_reports_honestly() {
    let test = TestWorkspace::new();
    if !test.has_sandbox().await {
        return;
    }
    let recorder = Arc::new(Recorder::default());
    let mut tools = WorkspaceTools::new(Arc::new(test.workspace.clone()));
    tools.listener = Some(recorder.clone());
    let run = async |tools: &WorkspaceTools, arguments: Value| {
        let outcome = call_in(tools.clone().into_tools(), 1, "run_command", arguments).await;
        (outcome.status, outcome.content, outcome.trust)
    };
    test.workspace.begin_turn("1").expect("a turn");
    let trusted = Trust::Trusted;
    let (status, content, trust) = run(&tools, json!({"command": "echo hi; exit 2"})).await;
    assert_eq!(
        (status, content.as_str(), trust),
        (OutcomeStatus::Ok, "hi\n[exit code 2]", trusted)
    );
    assert_eq!(*recorder.0.lock().expect("the list"), ["call-1 Stdout hi\n"]);
    let (status, content, _) = run(&tools, json!({"command": "sleep 9", "timeout_secs": 1})).await;
    let killed = "[killed after 1 s: the time limit]";
    assert_eq!((status, content.as_str()), (OutcomeStatus::TimedOut, killed));
    let (status, content, _) =
        run(&tools, json!({"command": "pwd", "directory": "../outside"})).await;
    let outside = "`../outside` leads out of the workspace.";
    assert_eq!((status, content.as_str()), (OutcomeStatus::Refused, outside));
    tools.network = true;
    let (_, _, trust) = run(&tools, json!({"command": "true"})).await;
    assert_eq!(trust, Trust::Untrusted, "the network is outside");
}

#[tokio::test]
async fn m36_run_command_is_refused_without_a_sandbox() {
    let test = TestWorkspace::with(|options| options.sandbox.landlock = false);
    let (status, content) = call(&test, "run_command", json!({"command": "touch ran"})).await;
    assert_eq!(status, OutcomeStatus::Refused);
    assert!(content.starts_with("Not run: no sandbox is available"), "{content}");
    assert_eq!(test.get("ran"), None);
}

/// M35, M50: an instance, a function of the request, or options from which it is built.
#[tokio::test]
async fn m35_m50_a_workspace_is_provided_in_three_ways() {
    let (one, two) = (TestWorkspace::new(), TestWorkspace::new());
    one.put("name", "one");
    two.put("name", "two");
    let read = async |provider: Arc<dyn WorkspaceProvider>, session| {
        let tools = WorkspaceTools::new(provider).into_tools();
        call_in(tools, session, "read_file", json!({"path": "name"})).await.content
    };
    assert_eq!(read(Arc::new(one.workspace.clone()), 1).await, "    1  one\n");
    let by_session = {
        let (one, two) = (one.workspace.clone(), two.workspace.clone());
        move |context: &ToolContext| match context.session {
            Some(session) if session == SessionId::from_u128(1) => Some(one.clone()),
            Some(session) if session == SessionId::from_u128(2) => Some(two.clone()),
            _ => None,
        }
    };
    let provider: Arc<dyn WorkspaceProvider> = Arc::new(PerRequest(by_session));
    let (first, second) = tokio::join!(read(provider.clone(), 1), read(provider.clone(), 2));
    assert_eq!((first.as_str(), second.as_str()), ("    1  one\n", "    1  two\n"));
    assert_eq!(read(provider, 3).await, "There is no workspace here.");
    let tools = WorkspaceTools::new(Arc::new(RequestExtension)).into_tools();
    let extensions = Extensions::default().with(two.workspace.clone());
    let path = json!({"path": "name"});
    let found = call_with(tools, 1, extensions, "read_file", path).await;
    assert_eq!(found.content, "    1  two\n");
    let options = WorkspaceOptions::new(one.root(), sandbox_options());
    let built = Arc::new(Workspace::open(options).expect("a workspace"));
    assert_eq!(read(Arc::new(built), 1).await, "    1  one\n");
}
