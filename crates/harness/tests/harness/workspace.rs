//! Workspaces of harnesses.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_harness::{
    EndReason, Harness, HarnessAgent, HarnessMode, HarnessRequestContext, NoState, WorkspaceSource,
};
use ostler_workspace::sandbox::{HelperProgram, SandboxOptions};
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};
use serde_json::json;

use crate::support::{bare, builder, memory, model, ready};

const SCRIPT: &str = "rules:\n  - when: { user: write }\n    answer:\n      - call: write_file\n        with: { path: note.txt, content: hello }\n      - \"{{ result }}\"\n  - when: { user: read }\n    answer:\n      - call: read_file\n        with: { path: note.txt }\n      - \"{{ result }}\"\n  - when: { offered: read_file }\n    answer: offered\ndefault: not offered";

fn options(root: &Path, data: Option<&Path>) -> WorkspaceOptions {
    let sandbox = SandboxOptions::new(HelperProgram::this_program().unwrap());
    let mut options = WorkspaceOptions::new(root, sandbox);
    options.data = data.map(Path::to_owned);
    options
}

fn open(root: &Path) -> Arc<Workspace> {
    Arc::new(Workspace::open(options(root, None)).unwrap())
}

fn text(outcome: &ostler_harness::TurnOutcome) -> String {
    json!(outcome.end)["text"].as_str().unwrap_or_default().to_owned()
}

/// M35, M37, M45: a workspace from options is opened by init, with its events; what a turn
/// changed can be undone.
#[tokio::test]
async fn m35_m37_m45_init_opens_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let (root, data) = (folder.path().join("root"), folder.path().join("data"));
    std::fs::create_dir(&root).unwrap();
    let source = WorkspaceSource::Config(options(&root, Some(&data)));
    let (harness, mut events) = ready(builder(SCRIPT).await.workspace(source)).await;
    let status = |status: &str| json!({"type": "workspace_status_changed", "status": status});
    assert_eq!(
        bare(&mut events),
        [status("initializing"), status("ready"), json!({"type": "workspace_ready"})]
    );
    harness.set_state(json!({"yolo": true})).await.unwrap();
    let outcome = harness.send_message("write").await.unwrap();
    assert_eq!(outcome.reason, EndReason::Complete);
    assert_eq!(std::fs::read_to_string(root.join("note.txt")).unwrap(), "hello");
    harness.restore_files(outcome.turn).await.unwrap();
    assert!(!root.join("note.txt").exists());
    bare(&mut events);
    harness.close().await.unwrap();
    assert_eq!(bare(&mut events), [status("destroying"), status("destroyed")]);
}

/// M37: a workspace that cannot be opened is reported, and the harness still answers.
#[tokio::test]
async fn m37_a_missing_root_is_an_event() {
    let folder = tempfile::tempdir().unwrap();
    let source = WorkspaceSource::Config(options(&folder.path().join("nowhere"), None));
    let (harness, mut events) = ready(builder(SCRIPT).await.workspace(source)).await;
    let found = bare(&mut events);
    let kinds: Vec<_> = found.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["workspace_status_changed", "workspace_status_changed", "workspace_error"]);
    assert_eq!(found[1]["status"], "error");
    assert_eq!(harness.send_message("?").await.unwrap().reason, EndReason::Complete);
}

/// M35, M50: an instance is used as it is; a function gives each turn its own, also at the
/// same time.
#[tokio::test]
async fn m35_m50_requests_have_their_own_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let roots = ["one", "two"].map(|name| folder.path().join(name));
    for root in &roots {
        std::fs::create_dir(root).unwrap();
        std::fs::write(root.join("note.txt"), root.file_name().unwrap().as_encoded_bytes())
            .unwrap();
    }
    let instance = WorkspaceSource::Instance(open(&roots[0]));
    let (single, _) = ready(builder(SCRIPT).await.workspace(instance)).await;
    single.set_state(json!({"yolo": true})).await.unwrap();
    assert!(text(&single.send_message("read").await.unwrap()).contains("one"));
    let (first, second) = (open(&roots[0]), open(&roots[1]));
    let choose = Arc::new(move |request: &HarnessRequestContext| {
        let second_asked = request.state()["which"] == "second";
        Some(if second_asked { second.clone() } else { first.clone() })
    });
    let build = |which: &'static str| {
        let source = WorkspaceSource::PerRequest(choose.clone());
        async move {
            let state = json!({"yolo": true, "which": which});
            ready(builder(SCRIPT).await.workspace(source).initial_state(state)).await.0
        }
    };
    let (one, two) = (build("first").await, build("second").await);
    let (said_one, said_two) = tokio::join!(one.send_message("read"), two.send_message("read"));
    assert!(text(&said_one.unwrap()).contains("one"));
    assert!(text(&said_two.unwrap()).contains("two"));
}

struct Root(ToolDefinition);

impl Tool for Root {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Authorized, context: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        let request = context.extensions.get::<HarnessRequestContext>();
        let root = request.and_then(|one| Some(one.workspace()?.files().root().to_owned()));
        let said = root.map_or_else(|| "none".to_owned(), |root| root.display().to_string());
        std::future::ready(ToolReply::Done(ToolOutcome::ok(said))).boxed()
    }
}

/// M50: a tool finds the workspace of its turn in the request context of the harness.
#[tokio::test]
async fn m50_a_tool_finds_the_workspace_of_its_turn() {
    let script =
        "rules:\n  - when: { user: where }\n    answer: [{ call: root }, \"{{ result }}\"]";
    let spec = ToolSpec::control(ToolName::from_static("root"), ToolGroup::Custom);
    let root = Arc::new(Root(ToolDefinition::new(spec, "Where?", json!({"type": "object"}))));
    let (without, _) = ready(builder(script).await.tool(root.clone())).await;
    assert_eq!(text(&without.send_message("where").await.unwrap()), "none");
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(folder.path());
    let expected = workspace.files().root().display().to_string();
    let choose = Arc::new(move |_: &HarnessRequestContext| Some(workspace.clone()));
    let source = WorkspaceSource::PerRequest(choose);
    let (with, _) = ready(builder(script).await.tool(root).workspace(source)).await;
    assert_eq!(text(&with.send_message("where").await.unwrap()), expected);
}

/// M04: an agent with a workspace of its own keeps it, one without has that of the harness.
#[tokio::test]
async fn m04_an_agent_with_its_own_workspace_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let roots = ["shared", "own"].map(|name| folder.path().join(name));
    for root in &roots {
        std::fs::create_dir(root).unwrap();
    }
    let agent = HarnessAgent::new("planner", "You plan.").workspace(open(&roots[1]));
    let builder = Harness::<NoState>::builder("test", memory().await)
        .model(model(SCRIPT))
        .mode(HarnessMode::new("build", "Build", HarnessAgent::new("b", "x")).default_mode())
        .mode(HarnessMode::new("plan", "Plan", agent))
        .initial_state(json!({"yolo": true}))
        .workspace(WorkspaceSource::Instance(open(&roots[0])));
    let (harness, _) = ready(builder).await;
    harness.send_message("write").await.unwrap();
    let written = || roots.clone().map(|root| root.join("note.txt").exists());
    assert_eq!(written(), [true, false]);
    std::fs::remove_file(roots[0].join("note.txt")).unwrap();
    harness.switch_mode("plan").await.unwrap();
    harness.send_message("write").await.unwrap();
    assert_eq!(written(), [false, true]);
}

/// M37: the files of a turn are restored in the workspace that it worked in, also when
/// another mode is the current one, and by a harness that was not there.
#[tokio::test]
async fn m37_files_are_restored_in_the_workspace_of_the_turn() {
    let folder = tempfile::tempdir().unwrap();
    let roots = ["shared", "own"].map(|name| folder.path().join(name));
    let data = ["shared-data", "own-data"].map(|name| folder.path().join(name));
    for root in &roots {
        std::fs::create_dir(root).unwrap();
    }
    let store = memory().await;
    let harness = || {
        let open =
            |at: usize| Arc::new(Workspace::open(options(&roots[at], Some(&data[at]))).unwrap());
        let agent = HarnessAgent::new("planner", "You plan.").workspace(open(1));
        let builder = Harness::<NoState>::builder("test", store.clone())
            .model(model(SCRIPT))
            .mode(HarnessMode::new("build", "Build", HarnessAgent::new("b", "x")).default_mode())
            .mode(HarnessMode::new("plan", "Plan", agent))
            .initial_state(json!({"yolo": true}))
            .workspace(WorkspaceSource::Instance(open(0)));
        ready(builder)
    };
    let written = || roots.clone().map(|root| root.join("note.txt").exists());
    let (first, _) = harness().await;
    first.switch_mode("plan").await.unwrap();
    let planned = first.send_message("write").await.unwrap().turn;
    first.switch_mode("build").await.unwrap();
    let built = first.send_message("write").await.unwrap().turn;
    assert_eq!(written(), [true, true]);
    first.restore_files(planned).await.unwrap();
    assert_eq!(written(), [true, false]);
    first.close().await.unwrap();
    let (second, _) = harness().await;
    second.select_or_create_thread().await.unwrap();
    second.switch_mode("plan").await.unwrap();
    second.restore_files(built).await.unwrap();
    assert_eq!(written(), [false, false]);
}

/// M35: without a workspace there are no tools for one.
#[tokio::test]
async fn m35_the_tools_come_with_the_workspace() {
    let (without, _) = ready(builder(SCRIPT).await).await;
    assert_eq!(text(&without.send_message("?").await.unwrap()), "not offered");
    let folder = tempfile::tempdir().unwrap();
    let source = WorkspaceSource::Instance(open(folder.path()));
    let (with, _) = ready(builder(SCRIPT).await.workspace(source)).await;
    assert_eq!(text(&with.send_message("?").await.unwrap()), "offered");
}
