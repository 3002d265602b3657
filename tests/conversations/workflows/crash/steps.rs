//! A process that runs the steps of one workflow is killed.

use ostler_runtime::operations::Actor;
use ostler_runtime::workflow::QuestionBody;
use ostler_testkit::TestDatabase;
use serde_json::{Value, json};

use super::KilledProcesses;
use crate::support::ORG;
use crate::workflows::support::{result, state, task};

fn note(id: &str, after: &[&str]) -> Value {
    json!({"id": id, "after": after, "tool": "note", "with": {"say": id}})
}

/// X54: a process is killed with `kill -9` during a step, twice; the third process
/// finishes the workflow, and no finished step runs again.
#[tokio::test(flavor = "multi_thread")]
async fn x54_finished_steps_do_not_run_again_after_a_kill() {
    for processes in KilledProcesses::on_every_database().await {
        kill_during_steps(&processes).await;
    }
}

async fn kill_during_steps(processes: &KilledProcesses) {
    let steps = json!([note("a", &[]), note("b", &["a"]), note("c", &["b"]), note("d", &["c"])]);
    let id = processes.workflows.start(steps, json!({})).await;
    for hangs in ["b", "c"] {
        processes.hang(&format!("note {hangs}"));
        let process = processes.process("");
        let began = format!("note {hangs}");
        processes.wait_until(&began, async || processes.count(&began) > 0).await;
        drop(process);
    }
    processes.hang("");
    let _last = processes.process("");
    let done = processes.wait_for_status(id, "done").await;
    assert_eq!(result(&done, "d"), "d");
    assert_eq!(
        processes.workflows.log(),
        ["note a", "note b", "note b", "note c", "note c", "note d"],
        "only the step that was running when it was killed ran again"
    );
}

/// Z01: processes are killed while steps wait for an approval (three subagents deep), an
/// answer and an event, while other processes continue with the answers, and while a plan
/// waits; everything happens exactly once.
#[tokio::test(flavor = "multi_thread")]
async fn z01_waiting_steps_survive_killed_processes() {
    for processes in KilledProcesses::on_every_database().await {
        kill_while_waiting(&processes).await;
    }
}

async fn kill_while_waiting(processes: &KilledProcesses) {
    let steps = json!([
        {"id": "deep", "prompt": "please pay"},
        {"id": "ask", "ask": "Which colour?"},
        {"id": "event", "wait": "paid"},
        {"id": "end", "after": ["deep", "ask", "event"], "tool": "note",
         "with": {"say": "{{ steps.deep.result }} {{ steps.ask.result }} {{ steps.event.result }}"}},
    ]);
    let id = processes.workflows.start(steps, json!({})).await;
    let process = processes.process("");
    let waiting = processes.wait_for_status(id, "waiting").await;
    drop(process);
    let deep = task("deep");
    assert_eq!(waiting.task(&deep).unwrap().questions[0].path.len(), 3);
    assert!(processes.workflows.log().is_empty());
    let operations = processes.workflows.scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.approve_task(id, &deep, None).await.unwrap();
    operator.answer_task(id, &task("ask"), "blue").await.unwrap();
    operator.publish_event(None, "paid".parse().unwrap(), &json!("now")).await.unwrap();
    let shows_a_plan = async || {
        let detail = processes.workflows.detail(id).await;
        let asked = detail.task(&deep).and_then(|one| one.questions.first().cloned());
        asked.is_some_and(|one| matches!(one.body, QuestionBody::Plan { .. }))
    };
    // Each dies after two more stores, as long as there are any.
    for _ in 0..3 {
        let mut process = processes.process("after_step_commit:2");
        let over = async || process.0.try_wait().unwrap().is_some() || shows_a_plan().await;
        processes.wait_until("a fault", over).await;
    }
    let process = processes.process("");
    processes.wait_until("the plan", shows_a_plan).await;
    drop(process);
    operator.approve_task(id, &deep, None).await.unwrap();
    let _last = processes.process("");
    let done = processes.wait_for_status(id, "done").await;
    let said = "It is paid. blue now";
    assert_eq!(result(&done, "end"), said);
    assert_eq!(processes.workflows.log(), ["pay from below", &format!("note {said}")]);
}

/// A workflow that kills every process at the same point is abandoned, and its status
/// says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_kills_every_process_is_abandoned() {
    let processes = KilledProcesses::on(TestDatabase::sqlite_file()).await;
    let id = processes.workflows.start(json!([note("a", &[])]), json!({})).await;
    let mut process = processes.process("step_begins:1");
    let mut deaths = 0;
    processes
        .wait_until("giving up", async || {
            if process.0.try_wait().unwrap().is_some() {
                deaths += 1;
                process = processes.process("step_begins:1");
            }
            processes.workflows.detail(id).await.summary.status == "failed"
        })
        .await;
    // The first process stored the start; five others did not get further.
    assert_eq!(deaths, 6);
    let why = processes.workflows.detail(id).await.summary.why.unwrap();
    assert!(why.contains("died repeatedly"), "{why}");
}

/// Z01: a call that cannot be repeated is interrupted by a kill: it has an unknown
/// outcome, an operator resolves it, and the workflow continues.
#[tokio::test(flavor = "multi_thread")]
async fn z01_a_call_interrupted_by_a_kill_is_not_repeated() {
    for processes in KilledProcesses::on_every_database().await {
        kill_during_a_call(&processes).await;
    }
}

async fn kill_during_a_call(processes: &KilledProcesses) {
    let steps = json!([
        {"id": "pay", "tool": "pay", "with": {"say": "ten"}},
        {"id": "end", "after": ["pay"], "tool": "note", "with": {"say": "{{ steps.pay.result }}"}},
    ]);
    let id = processes.workflows.start(steps, json!({})).await;
    let first = processes.process("");
    processes.wait_for_status(id, "waiting").await;
    drop(first);
    let operations = processes.workflows.scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.approve_task(id, &task("pay"), None).await.unwrap();
    processes.hang("pay ten");
    let second = processes.process("");
    processes.wait_until("the call", async || processes.count("pay ten") == 1).await;
    drop(second);
    let third = processes.process("");
    let unknown = async || {
        let detail = processes.workflows.detail(id).await;
        let asked = detail.task(&task("pay")).and_then(|one| one.questions.first().cloned());
        asked.is_some_and(|one| matches!(one.body, QuestionBody::Unknown { .. }))
    };
    processes.wait_until("the question", unknown).await;
    drop(third);
    operator.answer_task(id, &task("pay"), "it was paid").await.unwrap();
    let _last = processes.process("");
    let done = processes.wait_for_status(id, "done").await;
    assert_eq!((result(&done, "end"), processes.count("pay ten")), ("it was paid", 1));
}

/// X54, Z01: processes end at every point where something is about to be stored or was
/// just stored; another process always reaches the same result, and finished work is not
/// repeated.
#[tokio::test(flavor = "multi_thread")]
async fn x54_z01_a_kill_at_every_fault_point_leads_to_the_same_result() {
    let places = [
        "step_begins:2",
        "before_step_commit:2",
        "after_step_commit:3",
        "before_step_checkpoint:1",
        "after_step_turn:2",
        "before_step_commit:4",
    ];
    for place in places {
        let processes = KilledProcesses::on(TestDatabase::sqlite_file()).await;
        let operations = processes.workflows.scenario.operations();
        let operator = operations.as_actor(Actor::Terminal, ORG);
        let steps = json!([
            note("first", &[]),
            {"id": "pay", "after": ["first"], "tool": "pay", "with": {"say": "once"}},
            note("last", &["pay"]),
        ]);
        let id = processes.workflows.start(steps, json!({})).await;
        let mut approved = false;
        let mut process = processes.process(place);
        let mut done_before = Vec::new();
        let mut deaths = 0;
        processes
            .wait_until(place, async || {
                let detail = processes.workflows.detail(id).await;
                if !approved && state(&detail, "pay") == "waits" {
                    operator.approve_task(id, &task("pay"), None).await.unwrap();
                    approved = true;
                }
                if process.0.try_wait().unwrap().is_some() {
                    deaths += 1;
                    let over = ["first", "pay", "last"].map(|name| (name, state(&detail, name)));
                    let over = over.into_iter().filter(|(_, state)| *state == "done");
                    done_before = over
                        .map(|(name, _)| (name, processes.count(&format!("note {name}"))))
                        .collect();
                    process = processes.process("");
                }
                detail.summary.status == "done"
            })
            .await;
        assert_eq!(deaths, 1, "{place} is not reached");
        assert_eq!(processes.count("pay once"), 1, "{place}");
        for (name, before) in done_before {
            assert_eq!(processes.count(&format!("note {name}")), before, "{name} at {place}");
        }
    }
}
