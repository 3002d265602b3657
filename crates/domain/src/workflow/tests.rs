//! Tables: what is refused when it is read, and what begins when.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Came, Definition, Progress, Reference, Status, StepName, Stop, Task, Template, Values,
};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_000);

/// Results as texts, by task.
#[derive(Default)]
struct Results(RefCell<BTreeMap<String, String>>);

impl Values for Results {
    fn text(&self, of: &Reference, task: &Task) -> Option<String> {
        let name = match of {
            Reference::Result { step, .. } => step.to_string(),
            Reference::Last { .. } => task.to_string(),
            _ => return None,
        };
        self.0.borrow().get(&name).cloned()
    }

    fn count(&self, list: &Template, task: &Task) -> Result<usize, String> {
        let list = list.fill(self, task);
        if list == "none" { Err("this is no list".into()) } else { Ok(list.len()) }
    }
}

fn read(steps: &Value) -> Definition {
    try_read(steps).unwrap_or_else(|error| unreachable!("{error}"))
}

fn try_read(steps: &Value) -> Result<Definition, String> {
    let whole = json!({"name": "test", "inputs": ["x"], "step": steps});
    serde_json::from_value(whole).map_err(|error| error.to_string())
}

/// A workflow that is played by hand.
struct Play {
    definition: Definition,
    progress: Progress,
    results: Results,
    most: usize,
}

impl Play {
    fn new(steps: &Value) -> Self {
        let definition = read(steps);
        let progress = Progress::new(&definition);
        Self { definition, progress, results: Results::default(), most: 100 }
    }

    /// What begins now.
    fn begins(&mut self, expected: &[&str]) {
        let begun = self.progress.advance(&self.definition, &self.results, self.most, NOW);
        let begun: Vec<String> = begun.iter().map(ToString::to_string).collect();
        assert_eq!(begun, expected);
    }

    fn came(&mut self, task: &str, came: Came) {
        let task = task.parse().unwrap_or_else(|error| unreachable!("{error}"));
        assert!(self.progress.came(&self.definition, &self.results, &task, came, NOW), "{task}");
    }

    fn done(&mut self, task: &str, result: &str) {
        self.results.0.borrow_mut().insert(task.into(), result.into());
        self.came(task, Came::Done);
    }

    fn fails(&mut self, task: &str) {
        self.came(task, Came::Failed { why: "no".into(), again: true });
    }
}

fn name(text: &str) -> StepName {
    text.parse().unwrap_or_else(|error| unreachable!("{error}"))
}

#[test]
fn what_is_wrong_is_said_in_words() {
    let value = |id: &str| json!({"id": id, "value": "v"});
    let check = |steps: Value, expected: &str| {
        let said = try_read(&steps).err().unwrap_or_default();
        assert!(said.contains(expected), "{said} should say {expected}");
    };
    check(json!([]), "has 1 to 200 steps");
    check(json!([value("a"), value("a")]), "two steps named `a`");
    check(json!([{"id": "a b", "value": ""}]), "is not a name");
    check(json!([{"id": "a"}]), "exactly one of prompt, tool, ask, wait and value");
    check(json!([{"id": "a", "value": "", "wait": "e"}]), "exactly one of");
    check(json!([{"id": "a", "value": "", "with": {}}]), "only a tool has arguments");
    check(json!([{"id": "a", "value": "", "colour": 1}]), "unknown field `colour`");
    check(json!([{"id": "a", "value": "", "after": ["z"]}]), "after `z`, which is not there");
    check(json!([{"id": "a", "value": "{{steps.b.result}}"}, value("b")]), "add it to `after`");
    check(json!([{"id": "a", "value": "{{input.y}}"}]), "add `y` to the workflow's `inputs`");
    check(json!([{"id": "a", "value": "{{item}}"}]), "which only a step with `for_each` has");
    check(json!([{"id": "a", "value": "{{last}}"}]), "which only a step with `repeat` has");
    check(json!([{"id": "a", "value": "{{now}}"}]), "`{{now}}` names nothing");
    check(json!([{"id": "a", "value": "{{input.x"}]), "without `}}`");
    check(json!([{"id": "a", "value": "", "retries": 11}]), "`retries` of `a` is 1 to 10");
    check(json!([{"id": "a", "value": "", "when": {"value": "x"}}]), "needs exactly one of equals");
    let undo = json!({"value": "x"});
    check(json!([{"id": "a", "value": "", "for_each": "[]", "undo": undo}]), "cannot have `undo`");
}

/// X52: steps that wait for each other are refused, and named.
#[test]
fn x52_a_circle_is_refused_with_its_steps() {
    let after = |id: &str, before: &str| json!({"id": id, "value": "", "after": [before]});
    let check = |steps: Value, expected: &str| {
        let said = try_read(&steps).err().unwrap_or_default();
        assert!(said.contains(expected), "{said} should say {expected}");
    };
    check(json!([after("a", "a")]), "none can begin: a after a");
    check(json!([after("a", "c"), after("b", "a"), after("c", "b")]), "a after c after b after a");
}

#[test]
fn a_definition_is_written_as_it_is_read() {
    let steps = json!([
        {"id": "a", "tool": "look", "with": {"n": 1, "deep": {"list": ["{{input.x}}", true]}}},
        {"id": "b", "after": ["a"], "prompt": "{{steps.a.result.name}}", "agent": "gia",
         "when": {"value": "{{steps.a.result}}", "exists": true}, "retries": 2,
         "timeout_secs": 9, "undo": {"value": "{{steps.b.result}}"}},
        {"id": "c", "after": ["b"], "value": "{{item}}", "for_each": "[1]", "at_once": 2,
         "repeat": {"most": 3, "until": {"value": "{{last}}", "equals": "x"}}},
        {"id": "d", "ask": "Well?", "options": ["yes"]},
        {"id": "e", "wait": "paid"},
    ]);
    let whole = json!({"name": "test", "inputs": ["x"], "step": steps});
    assert_eq!(serde_json::to_value(read(&steps)).ok(), Some(whole));
}

/// X52, X55: steps begin side by side, in the order of what they wait for, and
/// one that joins others waits for all of them.
#[test]
fn x52_x55_a_diamond_runs_side_by_side_and_joins() {
    let mut play = Play::new(&json!([
        {"id": "join", "value": "", "after": ["left", "right"]},
        {"id": "left", "value": "", "after": ["start"]},
        {"id": "right", "value": "", "after": ["start"]},
        {"id": "start", "value": ""},
    ]));
    play.begins(&["start"]);
    play.begins(&[]);
    play.done("start", "1");
    play.begins(&["left", "right"]);
    play.done("right", "2");
    play.begins(&[]);
    assert_eq!(play.progress.status(), Status::Running);
    play.done("left", "3");
    play.begins(&["join"]);
    play.done("join", "4");
    play.begins(&[]);
    assert_eq!(play.progress.status(), Status::Done);
}

/// X53: what was done is taken back in the reverse order, and what failed or had
/// nothing to take back is not.
#[test]
fn x53_compensations_run_in_reverse() {
    let undo = json!({"value": "back"});
    let mut play = Play::new(&json!([
        {"id": "a", "value": "", "undo": undo},
        {"id": "b", "value": "", "after": ["a"]},
        {"id": "c", "value": "", "after": ["b"], "undo": undo},
        {"id": "d", "value": "", "after": ["c"], "undo": undo, "retries": 1},
        {"id": "e", "value": "", "after": ["d"]},
    ]));
    for step in ["a", "b", "c"] {
        play.begins(&[step]);
        play.done(step, "");
    }
    play.begins(&["d"]);
    play.fails("d");
    play.begins(&["d"]);
    play.fails("d");
    play.begins(&["c!undo"]);
    assert_eq!(play.progress.status(), Status::Undoing);
    play.done("c!undo", "");
    play.begins(&["a!undo"]);
    play.done("a!undo", "");
    play.begins(&[]);
    assert_eq!(play.progress.status(), Status::Failed);
    let why = Stop::Failed { step: name("d"), why: "no".into() };
    assert_eq!(play.progress.stop(), Some(&why));
}

/// X53: what is still running ends before anything is taken back, and is taken
/// back with the rest; what waits for people does not begin again.
#[test]
fn x53_running_steps_end_first() {
    let undo = json!({"value": "back"});
    let mut play = Play::new(&json!([
        {"id": "a", "value": "", "undo": undo},
        {"id": "b", "value": ""},
        {"id": "c", "ask": "Well?"},
    ]));
    play.begins(&["a", "b", "c"]);
    play.came("c", Came::Suspended);
    play.fails("b");
    play.begins(&[]);
    play.done("a", "");
    play.begins(&["a!undo"]);
    assert!(!play.progress.wake(&Task::of(name("c"))));
    play.fails("a!undo");
    play.begins(&[]);
    assert_eq!(play.progress.status(), Status::Failed);
}

/// X56: a branch is taken by what a step came to; the other is skipped with all
/// that only it leads to, and where both meet again the work goes on.
#[test]
fn x56_a_branch_is_taken_by_the_result() {
    let when = |wanted: &str| json!({"value": "{{steps.a.result}}", "contains": wanted});
    let mut play = Play::new(&json!([
        {"id": "a", "value": ""},
        {"id": "yes", "value": "", "after": ["a"], "when": when("yes")},
        {"id": "no", "value": "", "after": ["a"], "when": when("no")},
        {"id": "after-no", "value": "", "after": ["no"]},
        {"id": "join", "value": "", "after": ["yes", "after-no"]},
    ]));
    play.begins(&["a"]);
    play.done("a", "Yes, please");
    play.begins(&["yes"]);
    play.done("yes", "");
    play.begins(&["join"]);
    play.done("join", "");
    play.begins(&[]);
    assert_eq!(play.progress.status(), Status::Done);
}

/// X56: a step is repeated until its condition holds, and never beyond its bound.
#[test]
fn x56_a_loop_has_a_bound() {
    for (rounds, result) in [(["1", "2", "good"], Status::Done), (["1", "2", "3"], Status::Done)] {
        let until = json!({"value": "{{last}}", "equals": "good"});
        let repeat = json!({"most": 3, "until": until});
        let mut play = Play::new(&json!([{"id": "a", "value": "", "repeat": repeat}]));
        for round in rounds {
            play.begins(&["a"]);
            play.done("a", round);
        }
        play.begins(&[]);
        assert_eq!(play.progress.status(), result);
    }
}

/// X68: each part is done once, so many at once, and what comes after begins
/// once, when all are done.
#[test]
fn x68_parts_of_a_list_are_done_before_the_reduce() {
    let mut play = Play::new(&json!([
        {"id": "list", "value": ""},
        {"id": "map", "value": "", "after": ["list"], "for_each": "{{steps.list.result}}",
         "at_once": 2},
        {"id": "sum", "value": "", "after": ["map"]},
    ]));
    play.begins(&["list"]);
    play.done("list", "abc");
    play.begins(&["map/0", "map/1"]);
    play.done("map/1", "");
    play.begins(&["map/2"]);
    play.done("map/2", "");
    play.begins(&[]);
    play.done("map/0", "");
    play.begins(&["sum"]);
    play.done("sum", "");
    play.begins(&[]);
    assert_eq!(play.progress.status(), Status::Done);
}

#[test]
fn a_list_may_be_empty_and_must_be_a_list() {
    for (list, begins, status) in
        [("", &["sum"][..], Status::Running), ("none", &[], Status::Failed)]
    {
        let mut play = Play::new(&json!([
            {"id": "list", "value": ""},
            {"id": "map", "value": "", "after": ["list"], "for_each": "{{steps.list.result}}"},
            {"id": "sum", "value": "", "after": ["map"]},
        ]));
        play.begins(&["list"]);
        play.done("list", list);
        play.begins(begins);
        assert_eq!(play.progress.status(), status);
    }
}

#[test]
fn what_waits_too_long_has_failed() {
    let mut play = Play::new(&json!([{"id": "a", "wait": "paid", "timeout_secs": 60}]));
    play.begins(&["a"]);
    play.came("a", Came::Suspended);
    play.begins(&[]);
    assert_eq!(play.progress.status(), Status::Waiting);
    let deadline = NOW + Duration::from_secs(60);
    assert_eq!(play.progress.next_deadline(), Some(deadline));
    let begun = play.progress.advance(&play.definition, &play.results, 9, deadline);
    assert_eq!((begun, play.progress.status()), (vec![], Status::Failed));
}

#[test]
fn a_cancelled_workflow_takes_back_what_was_done() {
    let undo = json!({"value": "back"});
    let mut play = Play::new(&json!([
        {"id": "a", "value": "", "undo": undo},
        {"id": "b", "wait": "paid", "after": ["a"]},
    ]));
    play.begins(&["a"]);
    play.done("a", "");
    play.begins(&["b"]);
    play.came("b", Came::Suspended);
    assert!(play.progress.cancel() && !play.progress.cancel());
    play.begins(&["a!undo"]);
    play.done("a!undo", "");
    play.begins(&[]);
    assert_eq!(play.progress.status(), Status::Cancelled);
    assert!(!play.progress.cancel());
}

#[test]
fn nobody_has_more_in_work_than_there_is_room_for() {
    let mut play = Play::new(&json!([
        {"id": "a", "value": ""}, {"id": "b", "value": ""}, {"id": "c", "value": ""},
    ]));
    play.most = 2;
    play.begins(&["a", "b"]);
    play.done("a", "");
    play.begins(&["c"]);
}
