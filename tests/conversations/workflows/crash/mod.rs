//! Processes that are killed during a workflow, which another process continues.
//!
//! | module | what is killed |
//! |---|---|
//! | `steps` | a process that runs the steps of one workflow |
//! | `children` | processes that run a workflow and those that its steps start |
//! | `schedules` | processes that start workflows at due times |

mod children;
mod schedules;
mod steps;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ostler_domain::id::WorkflowId;
use ostler_domain::time::Timestamp;
use ostler_runtime::workflow::view::WorkflowDetail;
use ostler_store::{ConfigChange, ConfigWrite, Store};
use ostler_testkit::TestDatabase;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::support::{Log, WorkflowScenario};

/// The variables with the log and the database of a process; without them the test of the
/// process does nothing.
const LOG: &str = "OSTLER_WORKFLOW_LOG";
const DATABASE: &str = "OSTLER_WORKFLOW_DATABASE";
/// The extension of the file with the time of all processes, in milliseconds; without it their
/// clocks stand still.
const CLOCK: &str = "clock";
/// How often a process reads that file.
const CLOCK_INTERVAL: Duration = Duration::from_millis(10);
/// The test that is the process.
const PROCESS: &str = "workflows::crash::process";
/// The lease of a workflow.
const LEASE: Duration = Duration::from_secs(1);
/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// Three levels of subagents; the deepest pays and submits a plan.
const SCRIPT: &str = r#"
price: { input: 0, output: 1000 }
usage: { output: 10 }
rules:
  - when: { user: please pay }
    answer: [{ call: subagent, with: { agentType: deeper, task: level 1 } }, 'It is paid.']
  - when: { user: level 1 }
    answer: [{ call: subagent, with: { agentType: deeper, task: level 2 } }, 'done']
  - when: { user: level 2 }
    answer: [{ call: subagent, with: { agentType: deeper, task: level 3 } }, 'done']
  - when: { user: level 3 }
    answer:
      - { call: pay, with: { say: from below } }
      - { call: submit_plan, with: { plan: go on } }
      - 'done'
default: 'About {{ user }}: yes.'
"#;

/// A process that runs workflows until it is killed.
#[tokio::test(flavor = "multi_thread")]
async fn process() {
    let (Ok(log), Ok(url)) = (std::env::var(LOG), std::env::var(DATABASE)) else { return };
    let clock = PathBuf::from(&log).with_extension(CLOCK);
    let workflows = workflows(Store::open(&url).await.unwrap(), PathBuf::from(log));
    let (_stop, stopped) = watch::channel(false);
    follow_clock(&workflows, &clock);
    let working = async {
        tokio::select! {
            () = workflows.runner.run(4, stopped) => {}
            () = async {
                loop {
                    tokio::time::sleep(CLOCK_INTERVAL).await;
                    follow_clock(&workflows, &clock);
                }
            } => {}
        }
    };
    let _in_vain = tokio::time::timeout(PATIENCE, working).await;
}

/// Sets the clock of a process to the time in a file.
fn follow_clock(workflows: &WorkflowScenario, file: &Path) {
    let Ok(millis) = std::fs::read_to_string(file) else { return };
    let ahead = millis.parse::<i64>().unwrap() - workflows.scenario.now().as_millis();
    workflows.scenario.advance(Duration::from_millis(ahead.try_into().unwrap_or_default()));
}

fn workflows(store: Store, log: PathBuf) -> WorkflowScenario {
    WorkflowScenario::on(store, SCRIPT, Log::File(log), LEASE)
}

/// Processes that share a database.
struct KilledProcesses {
    folder: tempfile::TempDir,
    database: TestDatabase,
    workflows: WorkflowScenario,
}

/// A process that is killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    /// On Unix this is `kill -9`.
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl KilledProcesses {
    async fn on(database: TestDatabase) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workflows = workflows(database.migrated().await, folder.path().join("log"));
        Self { folder, database, workflows: workflows.seed().await }
    }

    /// On SQLite and on PostgreSQL.
    async fn on_every_database() -> Vec<Self> {
        let mut all = Vec::new();
        for database in TestDatabase::both().await {
            all.push(Self::on(database).await);
        }
        all
    }

    fn process(&self, fault: &str) -> Process {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", PROCESS, "--nocapture"])
            .env(LOG, self.folder.path().join("log"))
            .env(DATABASE, &self.database.url)
            .env("OSTLER_FAULT", fault)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Process(child.unwrap())
    }

    /// Stores a definition or a schedule.
    async fn save(&self, write: ConfigWrite) {
        let change = ConfigChange { writes: vec![write], ..ConfigChange::default() };
        self.workflows.scenario.org().change_config(change).await.unwrap();
    }

    /// Stores a workflow definition under its name.
    async fn save_workflow(&self, name: &str, inputs: &[&str], steps: &Value) {
        let whole = json!({"name": name, "agent": "enzo", "inputs": inputs, "step": steps});
        self.save(ConfigWrite::Workflow(Box::new(serde_json::from_value(whole).unwrap()))).await;
    }

    /// Sets the time of all processes.
    fn set_clock(&self, now: Timestamp) {
        let (file, new) = (self.folder.path().join("log"), self.folder.path().join("new_clock"));
        std::fs::write(&new, now.as_millis().to_string()).unwrap();
        // A process never reads half of it.
        std::fs::rename(new, file.with_extension(CLOCK)).unwrap();
    }

    /// Makes later calls with this line hang.
    fn hang(&self, line: &str) {
        std::fs::write(self.folder.path().join("log.hang"), line).unwrap();
    }

    async fn wait_until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let began = Instant::now();
        while !holds().await {
            let all = self.workflows.scenario.org().workflows(None, 1).await.unwrap();
            let (log, late) = (self.workflows.log(), began.elapsed() > PATIENCE);
            let state = all.first().map(|one| one.state.as_str());
            assert!(!late, "{what} took too long: {log:?} {state:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until a workflow has this status.
    async fn wait_for_status(&self, id: WorkflowId, status: &str) -> WorkflowDetail {
        self.wait_until(status, async || self.workflows.detail(id).await.summary.status == status)
            .await;
        self.workflows.detail(id).await
    }

    fn count(&self, line: &str) -> usize {
        self.workflows.log().iter().filter(|one| *one == line).count()
    }
}

/// Two processes that work at the same time. Those that have died are replaced by others, which
/// have no fault.
struct Workers<'p> {
    processes: &'p KilledProcesses,
    running: Vec<Process>,
    deaths: usize,
}

impl<'p> Workers<'p> {
    fn start(processes: &'p KilledProcesses, fault: &str) -> Self {
        let running = (0..2).map(|_| processes.process(fault)).collect();
        Self { processes, running, deaths: 0 }
    }

    /// Replaces those that have died.
    fn replace_dead(&mut self) {
        for process in &mut self.running {
            if process.0.try_wait().unwrap().is_some() {
                *process = self.processes.process("");
                self.deaths += 1;
            }
        }
    }

    /// Works until a workflow has this status, and returns it.
    async fn run_until(&mut self, id: WorkflowId, status: &str) -> WorkflowDetail {
        let processes = self.processes;
        let has_status = async || {
            self.replace_dead();
            processes.workflows.detail(id).await.summary.status == status
        };
        processes.wait_until(status, has_status).await;
        processes.workflows.detail(id).await
    }
}
