//! Whole processes that are killed in the middle of a workflow, and what others
//! make of what they leave.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ostler_domain::id::WorkflowId;
use ostler_runtime::operations::Actor;
use ostler_runtime::workflow::QuestionBody;
use ostler_runtime::workflow::view::WorkflowDetail;
use ostler_store::Store;
use ostler_testkit::TestDatabase;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::support::{WorkflowScenario, Log, result, state, task};
use crate::support::ORG;

/// The log and the database of a process; without them the process's test does
/// nothing.
const LOG: &str = "OSTLER_WORKFLOW_LOG";
const DATABASE: &str = "OSTLER_WORKFLOW_DATABASE";
/// The test that is a process.
const PROCESS: &str = "workflows::crash::process";
/// How long a process is believed to be there that says nothing.
const LEASE: Duration = Duration::from_secs(1);
/// How long a test waits for something at most.
const PATIENCE: Duration = Duration::from_secs(30);

/// An agent has one that has one that has one, which pays and shows a plan.
const SCRIPT: &str = r#"
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

/// A process: it brings workflows on until it is killed.
#[tokio::test(flavor = "multi_thread")]
async fn process() {
    let (Ok(log), Ok(url)) = (std::env::var(LOG), std::env::var(DATABASE)) else { return };
    let workflows = workflows(Store::open(&url).await.unwrap(), PathBuf::from(log));
    let (_stop, stopped) = watch::channel(false);
    let _in_vain = tokio::time::timeout(PATIENCE, workflows.runner.run(4, stopped)).await;
}

fn workflows(store: Store, log: PathBuf) -> WorkflowScenario {
    WorkflowScenario::on(store, SCRIPT, Log::File(log), LEASE)
}

/// Processes that share a database.
struct Killing {
    folder: tempfile::TempDir,
    database: TestDatabase,
    workflows: WorkflowScenario,
}

/// A process, which is killed when it is not wanted any more.
struct Process(Child);

impl Drop for Process {
    /// On Unix this is `kill -9`.
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Killing {
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

    /// Has calls of this hang from now on.
    fn hang(&self, line: &str) {
        std::fs::write(self.folder.path().join("log.hang"), line).unwrap();
    }

    async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let began = Instant::now();
        while !holds().await {
            let all = self.workflows.scenario.org().workflows(None, 1).await.unwrap();
            let (log, late) = (self.workflows.log(), began.elapsed() > PATIENCE);
            assert!(!late, "{what} took too long: {log:?} {}", all[0].state);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until a workflow is in this state.
    async fn becomes(&self, id: WorkflowId, status: &str) -> WorkflowDetail {
        self.until(status, async || self.workflows.look(id).await.summary.status == status).await;
        self.workflows.look(id).await
    }

    fn count(&self, line: &str) -> usize {
        self.workflows.log().iter().filter(|one| *one == line).count()
    }
}

fn note(id: &str, after: &[&str]) -> Value {
    json!({"id": id, "after": after, "tool": "note", "with": {"say": id}})
}

/// X54: a process is killed with `kill -9` in the middle of a step, twice; the
/// third brings the workflow to its end, and no step that was done runs again.
#[tokio::test(flavor = "multi_thread")]
async fn x54_steps_that_were_done_do_not_run_again_after_a_kill() {
    for killing in Killing::on_every_database().await {
        killed_in_steps(&killing).await;
    }
}

async fn killed_in_steps(killing: &Killing) {
    let steps = json!([note("a", &[]), note("b", &["a"]), note("c", &["b"]), note("d", &["c"])]);
    let id = killing.workflows.start(steps, json!({})).await;
    for hangs in ["b", "c"] {
        killing.hang(&format!("note {hangs}"));
        let process = killing.process("");
        let began = format!("note {hangs}");
        killing.until(&began, async || killing.count(&began) > 0).await;
        drop(process);
    }
    killing.hang("");
    let _last = killing.process("");
    let done = killing.becomes(id, "done").await;
    assert_eq!(result(&done, "d"), "d");
    assert_eq!(
        killing.workflows.log(),
        ["note a", "note b", "note b", "note c", "note c", "note d"],
        "only the step that was running when it was killed ran again"
    );
}

/// Z01: a process is killed while steps wait for an approval (three agents below
/// the step's own), an answer and an event; others have the answers, and are killed
/// while they go on and while a plan waits; everything happens exactly once.
#[tokio::test(flavor = "multi_thread")]
async fn z01_steps_that_wait_outlive_every_process() {
    for killing in Killing::on_every_database().await {
        killed_while_waiting(&killing).await;
    }
}

async fn killed_while_waiting(killing: &Killing) {
    let steps = json!([
        {"id": "deep", "prompt": "please pay"},
        {"id": "ask", "ask": "Which colour?"},
        {"id": "event", "wait": "paid"},
        {"id": "end", "after": ["deep", "ask", "event"], "tool": "note",
         "with": {"say": "{{ steps.deep.result }} {{ steps.ask.result }} {{ steps.event.result }}"}},
    ]);
    let id = killing.workflows.start(steps, json!({})).await;
    let process = killing.process("");
    let waiting = killing.becomes(id, "waiting").await;
    drop(process);
    let deep = task("deep");
    assert_eq!(waiting.task(&deep).unwrap().questions[0].path.len(), 3);
    assert!(killing.workflows.log().is_empty());
    let operations = killing.workflows.scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.approve_task(id, &deep, None).await.unwrap();
    operator.answer_task(id, &task("ask"), "blue").await.unwrap();
    operator.publish_event(None, "paid".parse().unwrap(), &json!("now")).await.unwrap();
    let shows_a_plan = async || {
        let detail = killing.workflows.look(id).await;
        let asked = detail.task(&deep).and_then(|one| one.questions.first().cloned());
        asked.is_some_and(|one| matches!(one.body, QuestionBody::Plan { .. }))
    };
    // Each dies once it has stored two things more, as long as there are any.
    for _ in 0..3 {
        let mut process = killing.process("after_step_commit:2");
        let over = async || process.0.try_wait().unwrap().is_some() || shows_a_plan().await;
        killing.until("a fault", over).await;
    }
    let process = killing.process("");
    killing.until("the plan", shows_a_plan).await;
    drop(process);
    operator.approve_task(id, &deep, None).await.unwrap();
    let _last = killing.process("");
    let done = killing.becomes(id, "done").await;
    let said = "It is paid. blue now";
    assert_eq!(result(&done, "end"), said);
    assert_eq!(killing.workflows.log(), ["pay from below", &format!("note {said}")]);
}

/// A workflow that ends every process at the same place is given up, and says so.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_takes_a_deadly_workflow_up_for_ever() {
    let killing = Killing::on(TestDatabase::sqlite_file()).await;
    let id = killing.workflows.start(json!([note("a", &[])]), json!({})).await;
    let mut process = killing.process("step_begins:1");
    let mut deaths = 0;
    killing
        .until("giving up", async || {
            if process.0.try_wait().unwrap().is_some() {
                deaths += 1;
                process = killing.process("step_begins:1");
            }
            killing.workflows.look(id).await.summary.status == "failed"
        })
        .await;
    // The first had stored that it begins; five others came no further.
    assert_eq!(deaths, 6);
    let why = killing.workflows.look(id).await.summary.why.unwrap();
    assert!(why.contains("died repeatedly"), "{why}");
}

/// A call that cannot be repeated is killed in the middle: nobody makes it again,
/// a person says what became of it, and the workflow goes on.
#[tokio::test(flavor = "multi_thread")]
async fn z01_nobody_repeats_a_call_that_a_kill_interrupted() {
    for killing in Killing::on_every_database().await {
        killed_in_a_call(&killing).await;
    }
}

async fn killed_in_a_call(killing: &Killing) {
    let steps = json!([
        {"id": "pay", "tool": "pay", "with": {"say": "ten"}},
        {"id": "end", "after": ["pay"], "tool": "note", "with": {"say": "{{ steps.pay.result }}"}},
    ]);
    let id = killing.workflows.start(steps, json!({})).await;
    let first = killing.process("");
    killing.becomes(id, "waiting").await;
    drop(first);
    let operations = killing.workflows.scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.approve_task(id, &task("pay"), None).await.unwrap();
    killing.hang("pay ten");
    let second = killing.process("");
    killing.until("the call", async || killing.count("pay ten") == 1).await;
    drop(second);
    let third = killing.process("");
    let unknown = async || {
        let detail = killing.workflows.look(id).await;
        let asked = detail.task(&task("pay")).and_then(|one| one.questions.first().cloned());
        asked.is_some_and(|one| matches!(one.body, QuestionBody::Unknown { .. }))
    };
    killing.until("the question", unknown).await;
    drop(third);
    operator.answer_task(id, &task("pay"), "it was paid").await.unwrap();
    let _last = killing.process("");
    let done = killing.becomes(id, "done").await;
    assert_eq!((result(&done, "end"), killing.count("pay ten")), ("it was paid", 1));
}

/// X54, Z01: a process ends at every place where something is about to be stored or
/// was just stored, again and again; whatever is left, another one brings it to
/// the same end, and what was done before is not done again.
#[tokio::test(flavor = "multi_thread")]
async fn x54_z01_every_place_to_die_at_leads_to_the_same_end() {
    let places = [
        "step_begins:2",
        "before_step_commit:2",
        "after_step_commit:3",
        "before_step_checkpoint:1",
        "after_step_turn:2",
        "before_step_commit:4",
    ];
    for place in places {
        let killing = Killing::on(TestDatabase::sqlite_file()).await;
        let operations = killing.workflows.scenario.operations();
        let operator = operations.as_actor(Actor::Terminal, ORG);
        let steps = json!([
            note("first", &[]),
            {"id": "pay", "after": ["first"], "tool": "pay", "with": {"say": "once"}},
            note("last", &["pay"]),
        ]);
        let id = killing.workflows.start(steps, json!({})).await;
        let mut approved = false;
        let mut process = killing.process(place);
        let mut done_before = Vec::new();
        let mut deaths = 0;
        killing
            .until(place, async || {
                let detail = killing.workflows.look(id).await;
                if !approved && state(&detail, "pay") == "waits" {
                    operator.approve_task(id, &task("pay"), None).await.unwrap();
                    approved = true;
                }
                if process.0.try_wait().unwrap().is_some() {
                    deaths += 1;
                    let over = ["first", "pay", "last"].map(|name| (name, state(&detail, name)));
                    let over = over.into_iter().filter(|(_, state)| *state == "done");
                    done_before = over
                        .map(|(name, _)| (name, killing.count(&format!("note {name}"))))
                        .collect();
                    process = killing.process("");
                }
                detail.summary.status == "done"
            })
            .await;
        assert_eq!(deaths, 1, "{place} is not reached");
        assert_eq!(killing.count("pay once"), 1, "{place}");
        for (name, before) in done_before {
            assert_eq!(killing.count(&format!("note {name}")), before, "{name} at {place}");
        }
    }
}
