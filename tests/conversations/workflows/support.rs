//! A scenario with a workflow runner, and tools that record their calls.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use ostler_domain::id::WorkflowId;
use ostler_domain::tool::{Reach, ToolGroup, ToolName, ToolSpec};
use ostler_domain::workflow::{Task, WorkflowDefinition};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::subagent::{SUBAGENT, Subagent, Subagents};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::{Actor, OperationError};
use ostler_runtime::workflow::WorkflowRunner;
use ostler_runtime::workflow::view::WorkflowDetail;
use ostler_store::Store;
use ostler_testkit::TestDatabase;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::support::{ORG, Scenario, catalogue};

/// The calls of tools, in order, in memory or in a file that several processes write to.
#[derive(Clone)]
pub(crate) enum Log {
    Memory(Arc<Mutex<Vec<String>>>),
    File(PathBuf),
}

impl Log {
    fn add(&self, line: String) {
        match self {
            Self::Memory(lines) => lines.lock().unwrap().push(line),
            Self::File(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                writeln!(file.unwrap(), "{line}").unwrap();
            }
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Self::Memory(lines) => lines.lock().unwrap().clone(),
            Self::File(path) => {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                text.lines().map(str::to_owned).collect()
            }
        }
    }

    /// Returns whether a test wants this call to hang.
    fn hangs(&self, line: &str) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::File(path) => {
                let wanted = std::fs::read_to_string(path.with_extension("hang"));
                wanted.is_ok_and(|wanted| wanted == line)
            }
        }
    }
}

/// The lease of a workflow.
const LEASE: Duration = Duration::from_secs(60);

/// A scenario with a workflow runner.
pub(crate) struct WorkflowScenario {
    pub(crate) scenario: Scenario,
    pub(crate) runner: WorkflowRunner,
    pub(crate) log: Log,
    script: String,
}

impl WorkflowScenario {
    /// Creates a seeded scenario.
    pub(crate) async fn new(script: &str) -> Self {
        let store = TestDatabase::sqlite_memory().migrated().await;
        Self::on(store, script, Log::Memory(Arc::default()), LEASE).seed().await
    }

    /// Starts another process on the same store.
    pub(crate) fn second_process(&self) -> Self {
        Self::on(self.scenario.store.clone(), &self.script, self.log.clone(), LEASE)
    }

    /// Creates the org.
    pub(crate) async fn seed(self) -> Self {
        let Self { scenario, runner, log, script } = self;
        Self { scenario: scenario.seed().await, runner, log, script }
    }

    pub(crate) fn on(store: Store, script: &str, log: Log, lease: Duration) -> Self {
        let look_every = Duration::from_millis(20);
        let mut settings = Settings {
            poll_interval: look_every,
            retry_after: Duration::ZERO,
            ..Settings::default()
        };
        settings.claims.lease = lease;
        let scenario =
            Scenario::with_replaced_tools(store, catalogue(script), settings, tools(&log));
        let runner = WorkflowRunner::new(scenario.worker.services()).unwrap();
        Self { scenario, runner, log, script: script.to_owned() }
    }

    /// Starts a workflow of these steps.
    pub(crate) async fn start(&self, steps: Value, input: Value) -> WorkflowId {
        self.try_start(steps, input).await.unwrap()
    }

    pub(crate) async fn try_start(
        &self,
        steps: Value,
        input: Value,
    ) -> Result<WorkflowId, OperationError> {
        let names: Vec<&String> = input.as_object().unwrap().keys().collect();
        let whole = json!({"name": "test", "agent": "enzo", "inputs": names, "step": steps});
        let definition: WorkflowDefinition = serde_json::from_value(whole).unwrap();
        let operations = self.scenario.operations();
        operations.as_actor(Actor::Terminal, ORG).start_workflow(&definition, &input).await
    }

    /// Runs all workflows as far as they can go.
    pub(crate) async fn work(&self) {
        while self.runner.run_next().await.unwrap() {}
    }

    /// Starts a workflow of these steps and runs it as far as it can go.
    pub(crate) async fn run(&self, steps: Value, input: Value) -> WorkflowDetail {
        let id = self.start(steps, input).await;
        self.work().await;
        self.detail(id).await
    }

    pub(crate) async fn detail(&self, id: WorkflowId) -> WorkflowDetail {
        let operations = self.scenario.operations();
        operations.as_actor(Actor::Terminal, ORG).workflow(id).await.unwrap()
    }

    /// Returns the calls of tools, oldest first.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lines()
    }
}

pub(crate) fn task(name: &str) -> Task {
    name.parse().unwrap()
}

/// Returns the result of a task, or an empty text.
pub(crate) fn result<'d>(detail: &'d WorkflowDetail, name: &str) -> &'d str {
    detail.task(&task(name)).and_then(|one| one.result.as_deref()).unwrap_or_default()
}

/// Returns the state of a task.
pub(crate) fn state(detail: &WorkflowDetail, name: &str) -> &'static str {
    detail.task(&task(name)).map_or("not there", |one| one.state)
}

/// Returns tools that record their calls: `note` returns its text; `meet` waits for
/// another `meet`; `pay` is external and never repeated; `break` fails. An agent inside a
/// turn has `pay`, `ask_user`, `submit_plan` and subagents.
fn tools(log: &Log) -> Vec<Arc<dyn Tool>> {
    let spec = |name| ToolSpec::read(ToolName::from_static(name), ToolGroup::Custom);
    let pay = ToolSpec::write(ToolName::from_static("pay"), ToolGroup::Custom);
    let meet = Arc::new(Barrier::new(2));
    let make = |spec: ToolSpec| -> Arc<dyn Tool> {
        let mut definition =
            ToolDefinition::new(spec, "Leaves a trace.", json!({"type": "object"}));
        // A workflow stays leased this long for the call of a killed process.
        if definition.spec.reach == Reach::External {
            definition.timeout = Duration::from_secs(1);
        }
        Arc::new(LoggedTool { definition, log: log.clone(), meet: meet.clone() })
    };
    let given = [
        SUBAGENT,
        ToolName::from_static("pay"),
        ToolName::from_static("ask_user"),
        ToolName::from_static("submit_plan"),
    ];
    let deeper = Subagent {
        name: "deeper".into(),
        description: "goes deeper".into(),
        instructions: "You dig.".into(),
        forked: false,
        tools: given.to_vec(),
        own_tools: Vec::new(),
        max_steps: None,
        max_credits: None,
        default_model: None,
    };
    let mut tools = vec![
        make(spec("note")),
        make(spec("meet")),
        make(spec("break")),
        make(pay.destructive().external()),
    ];
    tools.extend(Subagents::new(vec![deeper], &given).unwrap().tool());
    tools
}

struct LoggedTool {
    definition: ToolDefinition,
    log: Log,
    meet: Arc<Barrier>,
}

impl Tool for LoggedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        async move {
            let arguments: Value = call.arguments().unwrap_or_default();
            let said = arguments["say"].as_str().unwrap_or_default().to_owned();
            let name = self.definition.spec.name.as_str();
            let line = format!("{name} {said}");
            self.log.add(line.clone());
            if self.log.hangs(&line) {
                std::future::pending::<()>().await;
            }
            let patience = Duration::from_secs(10);
            if name == "meet" && tokio::time::timeout(patience, self.meet.wait()).await.is_err() {
                return ToolReply::Done(ToolOutcome::failed("Nobody else came."));
            }
            ToolReply::Done(match name {
                "break" => ToolOutcome::failed("It is broken."),
                _ => ToolOutcome::ok(said),
            })
        }
        .boxed()
    }
}
