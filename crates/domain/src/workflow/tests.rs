//! Tables: which definitions are refused, and which tasks start when.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Condition, StepName, StepOutcome, Task, Template, Values, WorkflowDefinition, WorkflowProgress,
    WorkflowStatus, WorkflowStop,
};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_000);

/// Results by task. A condition is `TASK has TEXT`, with `last` for the task itself; a
/// list is the name of a task, whose result has a character for each item.
#[derive(Default)]
struct Results(RefCell<BTreeMap<String, String>>);

impl Values for Results {
    fn holds(&self, condition: &Condition, task: &Task) -> Result<bool, String> {
        let (name, part) = condition.as_str().split_once(" has ").ok_or("no condition")?;
        let name = if name == "last" { task.to_string() } else { name.to_owned() };
        Ok(self.0.borrow().get(&name).is_some_and(|result| result.contains(part)))
    }

    fn count(&self, list: &Template, _: &Task) -> Result<usize, String> {
        match self.0.borrow().get(list.as_str()).map(String::as_str) {
            None | Some("none") => Err("this is no list".into()),
            Some(list) => Ok(list.len()),
        }
    }
}

fn parse(steps: &Value) -> WorkflowDefinition {
    try_parse(steps).unwrap_or_else(|error| unreachable!("{error}"))
}

fn try_parse(steps: &Value) -> Result<WorkflowDefinition, String> {
    let whole = json!({"name": "test", "inputs": ["x"], "step": steps});
    serde_json::from_value(whole).map_err(|error| error.to_string())
}

/// A workflow whose task outcomes the test provides.
struct Simulation {
    definition: WorkflowDefinition,
    progress: WorkflowProgress,
    results: Results,
    limit: usize,
}

impl Simulation {
    fn new(steps: &Value) -> Self {
        let definition = parse(steps);
        let progress = WorkflowProgress::new(&definition);
        Self { definition, progress, results: Results::default(), limit: 100 }
    }

    /// Advances the workflow and checks which tasks start.
    fn assert_starts(&mut self, expected: &[&str]) {
        let started = self.progress.advance(&self.definition, &self.results, self.limit, NOW);
        let started: Vec<String> = started.iter().map(ToString::to_string).collect();
        assert_eq!(started, expected);
    }

    fn complete(&mut self, task: &str, outcome: StepOutcome) {
        let task = task.parse().unwrap_or_else(|error| unreachable!("{error}"));
        assert!(
            self.progress.complete(&self.definition, &self.results, &task, outcome, NOW),
            "{task}"
        );
    }

    fn done(&mut self, task: &str, result: &str) {
        self.results.0.borrow_mut().insert(task.into(), result.into());
        self.complete(task, StepOutcome::Done);
    }

    fn fails(&mut self, task: &str) {
        self.complete(task, StepOutcome::Failed { reason: "no".into(), retryable: true });
    }
}

fn name(text: &str) -> StepName {
    text.parse().unwrap_or_else(|error| unreachable!("{error}"))
}

#[test]
fn each_invalid_definition_has_its_error_text() {
    let value = |id: &str| json!({"id": id, "value": "v"});
    let check = |steps: Value, expected: &str| {
        let error = try_parse(&steps).err().unwrap_or_default();
        assert!(error.contains(expected), "{error} should say {expected}");
    };
    check(json!([]), "has 1 to 200 steps");
    check(json!([value("a"), value("a")]), "two steps named `a`");
    check(json!([{"id": "a b", "value": ""}]), "is not a name");
    check(json!([{"id": "a"}]), "exactly one of prompt, tool, workflow, ask, wait and value");
    check(json!([{"id": "a", "value": "", "wait": "e"}]), "exactly one of");
    check(json!([{"id": "a", "value": "", "with": {}}]), "only a tool or a workflow has arguments");
    check(json!([{"id": "a", "value": "", "colour": 1}]), "unknown field `colour`");
    check(json!([{"id": "a", "value": "", "after": ["z"]}]), "after `z`, which is not there");
    check(json!([{"id": "a", "value": "x".repeat(70_000)}]), "has at most 65536 bytes");
    check(json!([{"id": "a", "value": "", "retries": 11}]), "`retries` of `a` is 1 to 10");
    check(json!([{"id": "a", "value": "", "concurrency": 2}]), "it has no for_each");
    let repeat = json!({"max": 101, "until": "x"});
    check(json!([{"id": "a", "value": "", "repeat": repeat}]), "`repeat.max` of `a` is 1 to 100");
    let undo = json!({"value": "x"});
    check(json!([{"id": "a", "value": "", "for_each": "[]", "undo": undo}]), "cannot have `undo`");
}

/// X52: steps that wait for each other are refused, with their names.
#[test]
fn x52_a_cycle_is_refused_with_its_steps() {
    let after = |id: &str, before: &str| json!({"id": id, "value": "", "after": [before]});
    let check = |steps: Value, expected: &str| {
        let error = try_parse(&steps).err().unwrap_or_default();
        assert!(error.contains(expected), "{error} should say {expected}");
    };
    check(json!([after("a", "a")]), "none can begin: a after a");
    check(json!([after("a", "c"), after("b", "a"), after("c", "b")]), "a after c after b after a");
}

#[test]
fn a_definition_survives_serialization() {
    let steps = json!([
        {"id": "a", "tool": "look", "with": {"n": 1, "deep": {"list": ["{{input.x}}", true]}}},
        {"id": "b", "after": ["a"], "prompt": "{{ steps.a.result.name }}", "agent": "gia",
         "when": "steps.a.result", "retries": 2,
         "timeout_secs": 9, "undo": {"value": "{{steps.b.result}}"}},
        {"id": "c", "after": ["b"], "value": "{{item}}", "for_each": "[1]", "concurrency": 2,
         "repeat": {"max": 3, "until": "last == 'x'"}},
        {"id": "d", "ask": "Well?", "options": ["yes"]},
        {"id": "e", "wait": "paid"},
    ]);
    let whole = json!({"name": "test", "inputs": ["x"], "step": steps});
    assert_eq!(serde_json::to_value(parse(&steps)).ok(), Some(whole));
}

/// X52, X55: steps run in parallel in dependency order, and a joining step waits for
/// all of its predecessors.
#[test]
fn x52_x55_a_diamond_runs_in_parallel_and_joins() {
    let mut simulation = Simulation::new(&json!([
        {"id": "join", "value": "", "after": ["left", "right"]},
        {"id": "left", "value": "", "after": ["start"]},
        {"id": "right", "value": "", "after": ["start"]},
        {"id": "start", "value": ""},
    ]));
    simulation.assert_starts(&["start"]);
    simulation.assert_starts(&[]);
    simulation.done("start", "1");
    simulation.assert_starts(&["left", "right"]);
    simulation.done("right", "2");
    simulation.assert_starts(&[]);
    assert_eq!(simulation.progress.status(), WorkflowStatus::Running);
    simulation.done("left", "3");
    simulation.assert_starts(&["join"]);
    simulation.done("join", "4");
    simulation.assert_starts(&[]);
    assert_eq!(simulation.progress.status(), WorkflowStatus::Done);
}

/// X53: completed steps with undo work are undone in reverse order; others are not.
#[test]
fn x53_compensations_run_in_reverse() {
    let undo = json!({"value": "back"});
    let mut simulation = Simulation::new(&json!([
        {"id": "a", "value": "", "undo": undo},
        {"id": "b", "value": "", "after": ["a"]},
        {"id": "c", "value": "", "after": ["b"], "undo": undo},
        {"id": "d", "value": "", "after": ["c"], "undo": undo, "retries": 1},
        {"id": "e", "value": "", "after": ["d"]},
    ]));
    for step in ["a", "b", "c"] {
        simulation.assert_starts(&[step]);
        simulation.done(step, "");
    }
    simulation.assert_starts(&["d"]);
    simulation.fails("d");
    simulation.assert_starts(&["d"]);
    simulation.fails("d");
    simulation.assert_starts(&["c!undo"]);
    assert_eq!(simulation.progress.status(), WorkflowStatus::Undoing);
    simulation.done("c!undo", "");
    simulation.assert_starts(&["a!undo"]);
    simulation.done("a!undo", "");
    simulation.assert_starts(&[]);
    assert_eq!(simulation.progress.status(), WorkflowStatus::Failed);
    let reason = WorkflowStop::Failed { step: name("d"), reason: "no".into() };
    assert_eq!(simulation.progress.stop(), Some(&reason));
}

/// X53: running steps end before anything is undone, and are undone with the rest; a
/// suspended step does not start again.
#[test]
fn x53_running_steps_end_first() {
    let undo = json!({"value": "back"});
    let mut simulation = Simulation::new(&json!([
        {"id": "a", "value": "", "undo": undo},
        {"id": "b", "value": ""},
        {"id": "c", "ask": "Well?"},
    ]));
    simulation.assert_starts(&["a", "b", "c"]);
    simulation.complete("c", StepOutcome::Suspended);
    simulation.fails("b");
    simulation.assert_starts(&[]);
    simulation.done("a", "");
    simulation.assert_starts(&["a!undo"]);
    assert!(!simulation.progress.wake(&Task::new(name("c"))));
    simulation.fails("a!undo");
    simulation.assert_starts(&[]);
    assert_eq!(simulation.progress.status(), WorkflowStatus::Failed);
}

/// X56: the result of a step selects a branch; the other branch is skipped, and a step
/// that joins both runs.
#[test]
fn x56_a_branch_is_taken_by_the_result() {
    let when = |wanted: &str| format!("a has {wanted}");
    let mut simulation = Simulation::new(&json!([
        {"id": "a", "value": ""},
        {"id": "yes", "value": "", "after": ["a"], "when": when("yes")},
        {"id": "no", "value": "", "after": ["a"], "when": when("no")},
        {"id": "after-no", "value": "", "after": ["no"]},
        {"id": "join", "value": "", "after": ["yes", "after-no"]},
    ]));
    simulation.assert_starts(&["a"]);
    simulation.done("a", "yes, please");
    simulation.assert_starts(&["yes"]);
    simulation.done("yes", "");
    simulation.assert_starts(&["join"]);
    simulation.done("join", "");
    simulation.assert_starts(&[]);
    assert_eq!(simulation.progress.status(), WorkflowStatus::Done);
}

/// X56: a step is repeated until its condition holds, at most as often as its limit.
#[test]
fn x56_a_loop_has_a_limit() {
    for (rounds, result) in
        [(["1", "2", "good"], WorkflowStatus::Done), (["1", "2", "3"], WorkflowStatus::Done)]
    {
        let repeat = json!({"max": 3, "until": "last has good"});
        let mut simulation = Simulation::new(&json!([{"id": "a", "value": "", "repeat": repeat}]));
        for round in rounds {
            simulation.assert_starts(&["a"]);
            simulation.done("a", round);
        }
        simulation.assert_starts(&[]);
        assert_eq!(simulation.progress.status(), result);
    }
}

/// X68: each item runs once, with limited concurrency, and the next step starts once,
/// when all are done.
#[test]
fn x68_items_of_a_list_are_done_before_the_reduce() {
    let mut simulation = Simulation::new(&json!([
        {"id": "list", "value": ""},
        {"id": "map", "value": "", "after": ["list"], "for_each": "list",
         "concurrency": 2},
        {"id": "sum", "value": "", "after": ["map"]},
    ]));
    simulation.assert_starts(&["list"]);
    simulation.done("list", "abc");
    simulation.assert_starts(&["map/0", "map/1"]);
    simulation.done("map/1", "");
    simulation.assert_starts(&["map/2"]);
    simulation.done("map/2", "");
    simulation.assert_starts(&[]);
    simulation.done("map/0", "");
    simulation.assert_starts(&["sum"]);
    simulation.done("sum", "");
    simulation.assert_starts(&[]);
    assert_eq!(simulation.progress.status(), WorkflowStatus::Done);
}

#[test]
fn a_list_may_be_empty_and_must_be_a_list() {
    for (list, expected, status) in
        [("", &["sum"][..], WorkflowStatus::Running), ("none", &[], WorkflowStatus::Failed)]
    {
        let mut simulation = Simulation::new(&json!([
            {"id": "list", "value": ""},
            {"id": "map", "value": "", "after": ["list"], "for_each": "list"},
            {"id": "sum", "value": "", "after": ["map"]},
        ]));
        simulation.assert_starts(&["list"]);
        simulation.done("list", list);
        simulation.assert_starts(expected);
        assert_eq!(simulation.progress.status(), status);
    }
}

#[test]
fn a_suspended_task_fails_after_its_timeout() {
    let mut simulation = Simulation::new(&json!([{"id": "a", "wait": "paid", "timeout_secs": 60}]));
    simulation.assert_starts(&["a"]);
    simulation.complete("a", StepOutcome::Suspended);
    simulation.assert_starts(&[]);
    assert_eq!(simulation.progress.status(), WorkflowStatus::Waiting);
    let deadline = NOW + Duration::from_secs(60);
    assert_eq!(simulation.progress.next_deadline(), Some(deadline));
    let started =
        simulation.progress.advance(&simulation.definition, &simulation.results, 9, deadline);
    assert_eq!((started, simulation.progress.status()), (vec![], WorkflowStatus::Failed));
}

#[test]
fn a_cancelled_workflow_undoes_completed_steps() {
    let undo = json!({"value": "back"});
    let mut simulation = Simulation::new(&json!([
        {"id": "a", "value": "", "undo": undo},
        {"id": "b", "wait": "paid", "after": ["a"]},
    ]));
    simulation.assert_starts(&["a"]);
    simulation.done("a", "");
    simulation.assert_starts(&["b"]);
    simulation.complete("b", StepOutcome::Suspended);
    assert!(simulation.progress.cancel() && !simulation.progress.cancel());
    simulation.assert_starts(&["a!undo"]);
    simulation.done("a!undo", "");
    simulation.assert_starts(&[]);
    assert_eq!(simulation.progress.status(), WorkflowStatus::Cancelled);
    assert!(!simulation.progress.cancel());
}

#[test]
fn no_more_tasks_run_than_the_limit() {
    let mut simulation = Simulation::new(&json!([
        {"id": "a", "value": ""}, {"id": "b", "value": ""}, {"id": "c", "value": ""},
    ]));
    simulation.limit = 2;
    simulation.assert_starts(&["a", "b"]);
    simulation.done("a", "");
    simulation.assert_starts(&["c"]);
}
