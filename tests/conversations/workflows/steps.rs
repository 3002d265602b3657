//! Order, branches, loops, lists, retries and costs of steps.

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::org::settings::OrgSettings;
use ostler_store::{ConfigChange, ConfigWrite};
use serde_json::json;

use super::support::{WorkflowScenario, result, state, task};
use crate::support::{ECHO, ENZO, agent};

/// X52, X55: steps run in the order of their dependencies, independent ones in parallel,
/// and a joining step has all results.
#[tokio::test(flavor = "multi_thread")]
async fn x52_x55_independent_steps_run_in_parallel_and_join() {
    let workflows = WorkflowScenario::new(ECHO).await;
    let done = workflows
        .run(
            json!([
                {"id": "join", "after": ["left", "right"], "tool": "note",
                 "with": {"say": "{{ steps.left.result }} and {{ steps.right.result }}"}},
                {"id": "left", "after": ["first"], "tool": "meet", "with": {"say": "left"}},
                {"id": "right", "after": ["first"], "tool": "meet", "with": {"say": "right"}},
                {"id": "first", "tool": "note", "with": {"say": "{{ input.word }}"}},
            ]),
            json!({"word": "hello"}),
        )
        .await;
    assert_eq!(done.summary.status, "done", "{done:?}");
    let mut log = workflows.log();
    assert_eq!([log.remove(0), log.pop().unwrap()], ["note hello", "note left and right"]);
    log.sort();
    assert_eq!(log, ["meet left", "meet right"]);
    assert_eq!(result(&done, "join"), "left and right");
}

/// X52: a workflow with a cycle, or with work that nobody can do, is refused before it
/// starts.
#[tokio::test(flavor = "multi_thread")]
async fn x52_an_invalid_workflow_is_refused() {
    let workflows = WorkflowScenario::new(ECHO).await;
    let check = async |steps, input, expected: &str| {
        let said = workflows.try_start(steps, input).await.unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    };
    let step = |tool: &str, agent: &str| json!([{"id": "a", "tool": tool, "agent": agent}]);
    check(step("fly", "enzo"), json!({}), "the tool `fly`, which does not exist here").await;
    check(step("note", "nobody"), json!({}), "no agent `nobody`").await;
    let value = |text: &str| json!([{"id": "a", "value": text}, {"id": "b", "value": ""}]);
    check(value("{{ steps.b.result }}"), json!({}), "`a` uses the result of `b`").await;
    check(value("{{ input.word }}"), json!({}), "add `word` to the workflow's `inputs`").await;
    check(value("{{ input.word"), json!({}), "`a`: syntax error").await;
    assert!(workflows.log().is_empty() && !workflows.runner.run_next().await.unwrap());
}

/// X56: the answer of an agent selects a branch; the other one is skipped, and the
/// joining step runs.
#[tokio::test(flavor = "multi_thread")]
async fn x56_a_branch_is_taken_by_an_answer() {
    let script = "rules:\n  - when: { user: broken }\n    answer: A REFUND, clearly.\n\
                  default: 'Nothing to do.'";
    for (word, taken, other) in [("broken", "refund", "thank"), ("lovely", "thank", "refund")] {
        let workflows = WorkflowScenario::new(script).await;
        let when = "'refund' in steps.judge.result | lower";
        let not = "steps.judge.result == 'Nothing to do.'";
        let done = workflows
            .run(
                json!([
                    {"id": "judge", "prompt": "It was {{ input.word }}."},
                    {"id": "refund", "after": ["judge"], "when": when, "tool": "note",
                     "with": {"say": "refund"}},
                    {"id": "thank", "after": ["judge"], "when": not, "tool": "note",
                     "with": {"say": "thank"}},
                    {"id": "end", "after": ["refund", "thank"], "value": "over"},
                ]),
                json!({"word": word}),
            )
            .await;
        assert_eq!(done.summary.status, "done", "{done:?}");
        assert_eq!(workflows.log(), [format!("note {taken}")]);
        assert_eq!((state(&done, other), result(&done, "end")), ("skipped", "over"));
    }
}

/// X56: a step is repeated until its result matches, and at most as often as its bound.
#[tokio::test(flavor = "multi_thread")]
async fn x56_a_loop_ends_by_its_result_or_its_bound() {
    let script = r"
rules:
  - when: { user: { regex: 'draft after <aa>' } }
    answer: aaa good
  - when: { user: { regex: 'after <(?<last>\w*)>' } }
    answer: '{{ last }}a'
";
    for (word, rounds, expected) in [("draft", 3, "aaa good"), ("sketch", 4, "aaaa")] {
        let workflows = WorkflowScenario::new(script).await;
        let done = workflows
            .run(
                json!([{"id": "write", "prompt": "{{ input.word }} after <{{ last }}>",
                        "repeat": {"max": 4, "until": "'good' in last"}}]),
                json!({"word": word}),
            )
            .await;
        assert_eq!(result(&done, "write"), expected, "{done:?}");
        assert_eq!(done.summary.spent, rounds, "each round is paid once");
    }
}

/// X68: an agent returns a list, each item is handled once with limited concurrency, and
/// the reducing step runs once with all results in order.
#[tokio::test(flavor = "multi_thread")]
async fn x68_a_list_is_mapped_and_reduced_once() {
    let script = r#"
rules:
  - when: { user: list }
    answer: '["ada", "bob", "cleo", "dora", "emil"]'
  - when: { user: { regex: 'greet (?<name>\w+) as (?<index>\d)' } }
    answer: 'hello {{ name }} {{ index }}'
"#;
    let workflows = WorkflowScenario::new(script).await;
    let done = workflows
        .run(
            json!([
                {"id": "list", "prompt": "list them"},
                {"id": "map", "after": ["list"], "for_each": "{{ steps.list.result }}",
                 "concurrency": 2, "prompt": "greet {{ item }} as {{ index }}"},
                {"id": "reduce", "after": ["map"], "tool": "note",
                 "with": {"say": "{{ steps.map.result }} {{ steps.map.result[2] }}"}},
            ]),
            json!({}),
        )
        .await;
    assert_eq!(done.summary.status, "done", "{done:?}");
    let each = ["hello ada 0", "hello bob 1", "hello cleo 2", "hello dora 3", "hello emil 4"];
    let all = serde_json::to_string(&each).unwrap();
    assert_eq!(workflows.log(), [format!("note {all} hello cleo 2")]);
    assert_eq!(done.task(&task("map/4")).unwrap().result.as_deref(), Some("hello emil 4"));
}

/// A failed step is retried as often as it says; a turn without an answer has failed.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_is_retried() {
    let workflows = WorkflowScenario::new(ECHO).await;
    let failed =
        workflows.run(json!([{"id": "a", "tool": "break", "retries": 2}]), json!({})).await;
    assert_eq!(workflows.log().len(), 3);
    let why = failed.summary.why.unwrap();
    assert_eq!(why, "the step `a` failed: It is broken.");
}

/// A step with an external effect is not retried: the effect would happen twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_with_an_external_effect_is_not_retried() {
    let script = r"
rules:
  - when: { user: pay, step: 1 }
    answer: { call: pay, with: { say: ten } }
  - when: { step: 2+ }
    answer: { call: note, with: { say: again and again } }
";
    let workflows = WorkflowScenario::new(script).await;
    let mut enzo = agent(ENZO, "enzo", Subtype::from("billing_specialist"));
    enzo.autonomy = AutonomyLevel::Autonomous;
    workflows.scenario.save_agent(enzo).await;
    let steps = json!([{"id": "a", "prompt": "pay", "retries": 3}]);
    let failed = workflows.run(steps, json!({})).await;
    let why = failed.summary.why.unwrap();
    let expected = "kept calling `note` (not retried, because it already had an external effect)";
    assert!(why.contains(expected), "{why}");
    assert_eq!(workflows.log().iter().filter(|line| *line == "pay ten").count(), 1);
}

/// The cost of agents is charged once, and a workflow spends no more than a session may:
/// the next step fails and says so.
#[tokio::test(flavor = "multi_thread")]
async fn steps_are_charged_and_capped_like_a_session() {
    let workflows = WorkflowScenario::new(ECHO).await;
    let has = async || {
        workflows.scenario.store.apply_settlements().await.unwrap();
        workflows.scenario.org().credit_account().await.unwrap().available().unwrap().get()
    };
    let before = has().await;
    let steps = json!([
        {"id": "a", "prompt": "one"},
        {"id": "b", "prompt": "two", "after": ["a"]},
    ]);
    let done = workflows.run(steps.clone(), json!({})).await;
    assert_eq!((done.summary.spent, has().await), (2, before - 2));
    let one = Credits::new(1);
    let session_budget = SessionBudget { cap: one, warning: one, spent: Credits::ZERO };
    let settings = OrgSettings { session_budget, ..OrgSettings::default() };
    workflows.scenario.save_settings(&settings).await;
    let failed = workflows.run(steps, json!({})).await;
    assert_eq!(failed.summary.why.unwrap(), "the step `b` failed: it has spent all that it may");
    assert_eq!((failed.summary.spent, has().await), (1, before - 3));
}

/// O30: a result that is too long to be stored fails its step, and as the result of a child the
/// step of the parent; neither is tried for ever.
#[tokio::test(flavor = "multi_thread")]
async fn o30_a_result_that_is_too_long_fails_its_step() {
    let workflows = WorkflowScenario::new(ECHO).await;
    let failed =
        workflows.run(json!([{"id": "big", "value": "{{ 'x' * 5000000 }}"}]), json!({})).await;
    let why = failed.summary.why.unwrap();
    assert!(why.contains("`big` failed: its result is longer than"), "{why}");

    // Each of both results can be stored, and together they cannot.
    let big = |id: &str| json!({"id": id, "value": "{{ 'x' * 3000000 }}"});
    let child = json!({"name": "child", "step": [big("one"), big("two")]});
    let child = ConfigWrite::Workflow(Box::new(serde_json::from_value(child).unwrap()));
    let change = ConfigChange { writes: vec![child], ..ConfigChange::default() };
    workflows.scenario.org().change_config(change).await.unwrap();
    let failed = workflows.run(json!([{"id": "run", "workflow": "child"}]), json!({})).await;
    assert_eq!(failed.summary.status, "failed");
    let why = failed.summary.why.unwrap();
    assert!(why.contains("the workflow child failed: its result is longer than"), "{why}");
}
