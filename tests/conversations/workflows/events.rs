//! Steps that wait for something to happen.

use ostler_domain::id::EventId;
use ostler_runtime::operations::Actor;
use ostler_store::Published;
use serde_json::{Value, json};

use super::bench::{Bench, result};
use crate::world::{ECHO, ORG};

async fn publish(bench: &Bench, id: u128, payload: Value) -> Published {
    let operations = bench.world.operations();
    let office = operations.as_actor(Actor::Terminal, ORG);
    let id = EventId::from_u128(id);
    office.publish_event(Some(id), "paid".parse().unwrap(), &payload).await.unwrap()
}

fn waits() -> Value {
    json!([
        {"id": "paid", "wait": "paid"},
        {"id": "ship", "after": ["paid"], "tool": "note",
         "with": {"say": "ship {{steps.paid.result.order}}"}},
    ])
}

/// X69: an event starts the step that waits for it, once, also if the process that
/// began to wait is gone and the event is told again.
#[tokio::test(flavor = "multi_thread")]
async fn x69_an_event_starts_its_step_once_also_after_a_restart() {
    let bench = Bench::new(ECHO).await;
    let id = bench.start(waits(), json!({})).await;
    bench.work().await;
    assert_eq!(bench.look(id).await.summary.status, "waiting");
    let other = bench.again();
    drop(bench);
    let published = publish(&other, 1, json!({"order": 7})).await;
    assert_eq!(published, Published::Reached { workflow: id, task: "paid".into() });
    assert_eq!(publish(&other, 1, json!({"order": 7})).await, Published::Repeat);
    other.work().await;
    other.again().work().await;
    assert_eq!(other.log(), ["note ship 7"]);
    let done = other.look(id).await;
    assert_eq!((done.summary.status.as_str(), result(&done, "ship")), ("done", "ship 7"));
}

/// X69: an event that nobody waits for yet is kept; two workflows and two events
/// come to one each.
#[tokio::test(flavor = "multi_thread")]
async fn x69_an_early_event_is_kept_and_each_reaches_one() {
    let bench = Bench::new(ECHO).await;
    assert_eq!(publish(&bench, 1, json!({"order": 1})).await, Published::Kept);
    for _ in 0..2 {
        bench.start(waits(), json!({})).await;
    }
    bench.work().await;
    assert_eq!(bench.log(), ["note ship 1"]);
    assert!(matches!(publish(&bench, 2, json!({"order": 2})).await, Published::Reached { .. }));
    bench.again().work().await;
    assert_eq!(bench.log(), ["note ship 1", "note ship 2"]);
    assert_eq!(publish(&bench, 3, json!({})).await, Published::Kept);
}
