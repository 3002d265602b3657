//! Compensation of finished steps when a later step fails.

use ostler_runtime::operations::Actor;
use serde_json::{Value, json};

use super::support::{WorkflowScenario, state};
use crate::support::{ECHO, ORG};

fn noted(id: &str, after: &[&str]) -> Value {
    let say = |text: String| json!({"tool": "note", "with": {"say": text}});
    let mut step = say(format!("do {id}"));
    step["id"] = json!(id);
    step["after"] = json!(after);
    step["undo"] = say(format!("undo {id}: {{{{ steps.{id}.result }}}}"));
    step
}

/// X53: the fourth of five steps fails; the three before it are compensated in reverse,
/// once each, and the fifth never runs.
#[tokio::test(flavor = "multi_thread")]
async fn x53_a_failure_compensates_finished_steps_in_reverse() {
    let workflows = WorkflowScenario::new(ECHO).await;
    let failed = workflows
        .run(
            json!([
                noted("flight", &[]),
                noted("hotel", &["flight"]),
                noted("car", &["hotel"]),
                {"id": "pay", "after": ["car"], "tool": "break"},
                noted("mail", &["pay"]),
            ]),
            json!({}),
        )
        .await;
    assert_eq!(
        workflows.log(),
        [
            "note do flight",
            "note do hotel",
            "note do car",
            "break ",
            "note undo car: do car",
            "note undo hotel: do hotel",
            "note undo flight: do flight",
        ]
    );
    assert_eq!(failed.summary.status, "failed");
    assert_eq!(
        ["flight", "pay", "mail"].map(|name| state(&failed, name)),
        ["undone", "failed", "waits for others"]
    );
    workflows.second_process().work().await;
    assert_eq!(workflows.log().len(), 7, "nothing is left to do");
}

/// X53: a waiting workflow is cancelled; its finished steps are compensated, and
/// compensating calls pass the gate.
#[tokio::test(flavor = "multi_thread")]
async fn x53_a_cancelled_workflow_is_compensated() {
    let workflows = WorkflowScenario::new(ECHO).await;
    let mut paid = noted("a", &[]);
    paid["undo"] = json!({"tool": "pay", "with": {"say": "back"}});
    let id = workflows
        .start(json!([paid, {"id": "b", "after": ["a"], "wait": "never"}]), json!({}))
        .await;
    workflows.work().await;
    let operations = workflows.scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.cancel_workflow(id).await.unwrap();
    assert!(operator.cancel_workflow(id).await.is_err(), "it is cancelled already");
    workflows.work().await;
    let waiting = workflows.detail(id).await;
    assert_eq!(waiting.summary.status, "waiting", "{waiting:?}");
    assert_eq!(workflows.log(), ["note do a"]);
    operator.approve_task(id, &super::task("a!undo"), None).await.unwrap();
    workflows.second_process().work().await;
    let over = workflows.detail(id).await;
    assert_eq!((over.summary.status.as_str(), state(&over, "b")), ("cancelled", "stopped"));
    assert_eq!(workflows.log(), ["note do a", "pay back"]);
}
