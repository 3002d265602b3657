//! Processes that run a workflow, and those that its steps start, are killed: each child is
//! started once and its end taken once, whether it is done, fails, is cancelled, is tried again
//! or undoes a step.

use ostler_domain::id::WorkflowId;
use ostler_runtime::operations::Actor;
use ostler_runtime::workflow::view::{ChildWorkflow, WorkflowDetail};
use ostler_testkit::TestDatabase;
use serde_json::{Value, json};

use super::{KilledProcesses, Workers};
use crate::support::{ORG, is_whole_campaign, sampled};
use crate::workflows::support::{result, state, task};

/// Where both processes die, at one of their first visits.
const POINTS: [&str; 4] =
    ["step_begins", "before_step_commit", "after_step_commit", "after_step_turn"];
const VISITS: usize = 8;

/// Returns the fault and whether PostgreSQL is used; a part of them without a whole campaign.
fn cases() -> Vec<(String, bool)> {
    let visits = (1..=VISITS).flat_map(|visit| POINTS.map(|point| format!("{point}:{visit}")));
    let cases = visits.flat_map(|fault| [false, true].map(|postgres| (fault.clone(), postgres)));
    sampled(cases.collect(), is_whole_campaign())
}

/// Runs a test at all faults and returns in how many of them a process died.
async fn at_every_fault(test: impl AsyncFn(&KilledProcesses, &mut Workers<'_>)) {
    let (cases, mut reached) = (cases(), 0);
    for (fault, postgres) in &cases {
        let database =
            if *postgres { TestDatabase::postgres().await } else { TestDatabase::sqlite_file() };
        let processes = KilledProcesses::on(database).await;
        let mut workers = Workers::start(&processes, fault);
        test(&processes, &mut workers).await;
        reached += usize::from(workers.deaths > 0);
    }
    assert!(reached * 2 > cases.len(), "only {reached} of {} faults were reached", cases.len());
}

fn note(id: &str, after: &[&str], say: &str) -> Value {
    json!({"id": id, "after": after, "tool": "note", "with": {"say": say}})
}

/// A note that is undone by another one.
fn undone_note(id: &str, after: &[&str]) -> Value {
    let mut step = note(id, after, &format!("do {id}"));
    step["undo"] = json!({"tool": "note", "with": {"say": format!("undo {id}")}});
    step
}

/// Returns the workflows that a task has started.
fn children(parent: &WorkflowDetail, name: &str) -> Vec<ChildWorkflow> {
    parent.task(&task(name)).map(|one| one.children.clone()).unwrap_or_default()
}

fn statuses(children: &[ChildWorkflow]) -> Vec<&str> {
    children.iter().map(|child| child.status.as_str()).collect()
}

/// Checks that each of these notes was made, in this order, and no other. A process that dies
/// between a call and its commit lets it be repeated, as often as one died.
fn check_notes(processes: &KilledProcesses, deaths: usize, expected: &[&str]) {
    let log = processes.workflows.log();
    let mut seen: Vec<&str> = Vec::new();
    for line in &log {
        let text = line.strip_prefix("note ").unwrap_or(line);
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    assert_eq!(seen, expected, "{log:?}");
    let repeated = log.len() - seen.len();
    assert!(repeated <= deaths, "{repeated} repeated, {deaths} died: {log:?}");
}

async fn cancel(processes: &KilledProcesses, id: WorkflowId) {
    let operations = processes.workflows.scenario.operations();
    operations.as_actor(Actor::Terminal, ORG).cancel_workflow(id).await.unwrap();
}

/// O30: one child for each item of a list; their results are in order, and what they cost is
/// counted once.
#[tokio::test(flavor = "multi_thread")]
async fn o30_every_item_of_a_list_starts_one_child_also_after_kills() {
    at_every_fault(async |processes, workers| {
        let child = json!([
            {"id": "think", "prompt": "{{ input.word }}"},
            {"id": "end", "after": ["think"], "value": "{{ input.word }} is done"},
        ]);
        processes.save_workflow("child", &["word"], &child).await;
        let steps = json!([
            note("first", &[], "first"),
            {"id": "each", "after": ["first"], "for_each": r#"["a", "b", "c"]"#,
             "concurrency": 2, "workflow": "child", "with": {"word": "{{ item }}"}},
            note("last", &["each"], "all {{ steps.each.result }}"),
        ]);
        let id = processes.workflows.start(steps, json!({})).await;
        let done = workers.run_until(id, "done").await;
        let results = r#"all ["a is done","b is done","c is done"]"#;
        assert_eq!(result(&done, "last"), results);
        check_notes(processes, workers.deaths, &["first", results]);
        let mut spent = 0;
        for item in 0..3 {
            let children = children(&done, &format!("each/{item}"));
            assert_eq!(statuses(&children), ["done"], "item {item}");
            spent += processes.workflows.detail(children[0].id).await.summary.spent;
        }
        assert!(spent > 0, "the model has a price");
        assert_eq!(done.summary.spent, spent);
    })
    .await;
}

/// O30: a child that fails undoes its steps and is started once more; then its parent fails
/// with its reason and undoes its own.
#[tokio::test(flavor = "multi_thread")]
async fn o30_a_child_that_fails_is_retried_and_then_fails_its_parent_also_after_kills() {
    at_every_fault(async |processes, workers| {
        let child = json!([
            undone_note("book", &[]),
            {"id": "bad", "after": ["book"], "tool": "break", "with": {"say": "it"}},
        ]);
        processes.save_workflow("child", &[], &child).await;
        let steps = json!([
            undone_note("first", &[]),
            {"id": "run", "after": ["first"], "workflow": "child", "retries": 1},
        ]);
        let id = processes.workflows.start(steps, json!({})).await;
        let failed = workers.run_until(id, "failed").await;
        assert_eq!(statuses(&children(&failed, "run")), ["failed", "failed"]);
        assert_eq!(["first", "run"].map(|step| state(&failed, step)), ["undone", "failed"]);
        let why = failed.summary.why.unwrap();
        assert!(why.contains("the workflow child failed: bad: "), "{why}");
        // The second child does what the first did.
        let notes = ["do first", "do book", "break it", "undo book", "undo first"];
        check_notes(processes, workers.deaths + 3, &notes);
        let log = processes.workflows.log();
        let last = |line: &str| log.iter().rposition(|one| one == line).unwrap();
        assert!(last("note undo book") < last("note undo first"), "{log:?}");
        assert!(processes.count("note do book") >= 2, "{log:?}");
    })
    .await;
}

/// O30: a cancellation reaches the children of children; each undoes its steps before its
/// parent does.
#[tokio::test(flavor = "multi_thread")]
async fn o30_a_cancellation_reaches_the_children_of_children_also_after_kills() {
    at_every_fault(async |processes, workers| {
        let leaf = json!([undone_note("leaf", &[]), {"id": "wait", "after": ["leaf"], "wait": "never"}]);
        let middle =
            json!([undone_note("middle", &[]), {"id": "run", "after": ["middle"], "workflow": "leaf"}]);
        processes.save_workflow("leaf", &[], &leaf).await;
        processes.save_workflow("middle", &[], &middle).await;
        let steps =
            json!([undone_note("first", &[]), {"id": "run", "after": ["first"], "workflow": "middle"}]);
        let top = processes.workflows.start(steps, json!({})).await;
        let only_child = async |workers: &mut Workers<'_>, id| {
            let waiting = workers.run_until(id, "waiting").await;
            let children = children(&waiting, "run");
            assert_eq!(children.len(), 1);
            children[0].id
        };
        let middle = only_child(workers, top).await;
        let leaf = only_child(workers, middle).await;
        workers.run_until(leaf, "waiting").await;
        cancel(processes, top).await;
        let over = workers.run_until(top, "cancelled").await;
        assert_eq!(statuses(&children(&over, "run")), ["cancelled"]);
        assert_eq!(processes.workflows.detail(leaf).await.summary.status, "cancelled");
        assert_eq!(["first", "run"].map(|step| state(&over, step)), ["undone", "failed"]);
        let notes = ["do first", "do middle", "do leaf", "undo leaf", "undo middle", "undo first"];
        check_notes(processes, workers.deaths, &notes);
    })
    .await;
}

/// O30: a failed workflow that a person retries starts a new child, by the definition that is
/// stored now, and repeats nothing that is done.
#[tokio::test(flavor = "multi_thread")]
async fn o30_a_retried_workflow_starts_a_new_child_also_after_kills() {
    at_every_fault(async |processes, workers| {
        let broken = json!([{"id": "only", "tool": "break", "with": {"say": "it"}}]);
        processes.save_workflow("child", &[], &broken).await;
        let steps = json!([
            note("first", &[], "first"),
            {"id": "run", "after": ["first"], "workflow": "child"},
            note("last", &["run"], "{{ steps.run.result }}"),
        ]);
        let id = processes.workflows.start(steps, json!({})).await;
        workers.run_until(id, "failed").await;
        let before = processes.count("note first");
        processes.save_workflow("child", &[], &json!([note("only", &[], "whole")])).await;
        let operations = processes.workflows.scenario.operations();
        operations.as_actor(Actor::Terminal, ORG).retry_workflow(id).await.unwrap();
        let done = workers.run_until(id, "done").await;
        assert_eq!(statuses(&children(&done, "run")), ["failed", "done"]);
        assert_eq!(processes.count("note first"), before);
        check_notes(processes, workers.deaths + 1, &["first", "break it", "whole"]);
    })
    .await;
}

/// O30: a workflow that undoes a step is started once and is not cancelled with its parent.
#[tokio::test(flavor = "multi_thread")]
async fn o30_a_workflow_that_undoes_a_step_is_started_once_also_after_kills() {
    at_every_fault(async |processes, workers| {
        processes.save_workflow("book", &[], &json!([note("only", &[], "booked")])).await;
        processes.save_workflow("unbook", &[], &json!([note("only", &[], "unbooked")])).await;
        let steps = json!([
            undone_note("first", &[]),
            {"id": "run", "after": ["first"], "workflow": "book", "undo": {"workflow": "unbook"}},
            {"id": "bad", "after": ["run"], "tool": "break", "with": {"say": "it"}},
        ]);
        let id = processes.workflows.start(steps, json!({})).await;
        let failed = workers.run_until(id, "failed").await;
        assert_eq!(statuses(&children(&failed, "run")), ["done"]);
        assert_eq!(statuses(&children(&failed, "run!undo")), ["done"]);
        assert_eq!(["first", "run"].map(|step| state(&failed, step)), ["undone", "undone"]);
        let notes = ["do first", "booked", "break it", "unbooked", "undo first"];
        check_notes(processes, workers.deaths, &notes);
    })
    .await;
}
