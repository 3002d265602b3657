//! What was done is taken back when a later step fails.

use ostler_runtime::operations::Actor;
use serde_json::{Value, json};

use super::bench::{Bench, state};
use crate::world::{ECHO, ORG};

fn noted(id: &str, after: &[&str]) -> Value {
    let say = |text: String| json!({"tool": "note", "with": {"say": text}});
    let mut step = say(format!("do {id}"));
    step["id"] = json!(id);
    step["after"] = json!(after);
    step["undo"] = say(format!("undo {id}: {{{{steps.{id}.result}}}}"));
    step
}

/// X53: the fourth of five steps fails; what the three before it did is taken back
/// in reverse, once each, and the fifth never runs.
#[tokio::test(flavor = "multi_thread")]
async fn x53_a_failure_takes_back_what_was_done_in_reverse() {
    let bench = Bench::new(ECHO).await;
    let failed = bench
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
        bench.log(),
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
    bench.again().work().await;
    assert_eq!(bench.log().len(), 7, "nothing is left to do");
}

/// X53: somebody cancels a workflow that waits; what was done is taken back, and a
/// call that takes it back passes the gate like any other.
#[tokio::test(flavor = "multi_thread")]
async fn x53_a_cancelled_workflow_is_taken_back() {
    let bench = Bench::new(ECHO).await;
    let mut paid = noted("a", &[]);
    paid["undo"] = json!({"tool": "pay", "with": {"say": "back"}});
    let id =
        bench.start(json!([paid, {"id": "b", "after": ["a"], "wait": "never"}]), json!({})).await;
    bench.work().await;
    let operations = bench.world.operations();
    let office = operations.as_actor(Actor::Terminal, ORG);
    office.cancel_workflow(id).await.unwrap();
    assert!(office.cancel_workflow(id).await.is_err(), "it is cancelled already");
    bench.work().await;
    let waiting = bench.look(id).await;
    assert_eq!(waiting.summary.status, "waiting", "{waiting:?}");
    assert_eq!(bench.log(), ["note do a"]);
    office.approve_task(id, &super::task("a!undo"), None).await.unwrap();
    bench.again().work().await;
    let over = bench.look(id).await;
    assert_eq!((over.summary.status.as_str(), state(&over, "b")), ("cancelled", "stopped"));
    assert_eq!(bench.log(), ["note do a", "pay back"]);
}
