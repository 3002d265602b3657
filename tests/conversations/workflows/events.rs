//! Steps that wait for an event.

use ostler_domain::id::EventId;
use ostler_runtime::operations::Actor;
use ostler_store::PublishOutcome;
use serde_json::{Value, json};

use super::support::{WorkflowScenario, result};
use crate::support::{ECHO, ORG};

async fn publish(workflows: &WorkflowScenario, id: u128, payload: Value) -> PublishOutcome {
    let operations = workflows.scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    let id = EventId::from_u128(id);
    operator.publish_event(Some(id), "paid".parse().unwrap(), &payload).await.unwrap()
}

fn waits() -> Value {
    json!([
        {"id": "paid", "wait": "paid"},
        {"id": "ship", "after": ["paid"], "tool": "note",
         "with": {"say": "ship {{ steps.paid.result.order }}"}},
    ])
}

/// X69: an event starts the step that waits for it once, also if the process that began
/// to wait is gone and the event is published again.
#[tokio::test(flavor = "multi_thread")]
async fn x69_an_event_starts_its_step_once_also_after_a_restart() {
    let workflows = WorkflowScenario::new(ECHO).await;
    let id = workflows.start(waits(), json!({})).await;
    workflows.work().await;
    assert_eq!(workflows.detail(id).await.summary.status, "waiting");
    let other = workflows.second_process();
    drop(workflows);
    let published = publish(&other, 1, json!({"order": 7})).await;
    assert_eq!(published, PublishOutcome::Delivered { workflow: id, task: "paid".into() });
    assert_eq!(publish(&other, 1, json!({"order": 7})).await, PublishOutcome::Duplicate);
    other.work().await;
    other.second_process().work().await;
    assert_eq!(other.log(), ["note ship 7"]);
    let done = other.detail(id).await;
    assert_eq!((done.summary.status.as_str(), result(&done, "ship")), ("done", "ship 7"));
}

/// X69: an event without a waiting step is stored; of two workflows and two events each
/// gets one.
#[tokio::test(flavor = "multi_thread")]
async fn x69_an_early_event_is_stored_and_each_event_starts_one_workflow() {
    let workflows = WorkflowScenario::new(ECHO).await;
    assert_eq!(publish(&workflows, 1, json!({"order": 1})).await, PublishOutcome::Stored);
    for _ in 0..2 {
        workflows.start(waits(), json!({})).await;
    }
    workflows.work().await;
    assert_eq!(workflows.log(), ["note ship 1"]);
    assert!(matches!(
        publish(&workflows, 2, json!({"order": 2})).await,
        PublishOutcome::Delivered { .. }
    ));
    workflows.second_process().work().await;
    assert_eq!(workflows.log(), ["note ship 1", "note ship 2"]);
    assert_eq!(publish(&workflows, 3, json!({})).await, PublishOutcome::Stored);
}
