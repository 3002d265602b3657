//! State and tasks.

use serde_json::json;

use crate::support::{bare, builder, builder_on, memory, names, ready, wait_for};

/// M21: the list is replaced as a whole, kept in the state and reported.
#[tokio::test]
async fn m21_task_write_replaces_the_list() {
    let script = "rules:\n  - when: { user: first }\n    answer:\n      - call: task_write\n        with: { tasks: [ { content: Test, status: pending, activeForm: Testing }, { content: Land, status: pending, activeForm: Landing } ] }\n      - ok\n  - when: { user: then }\n    answer:\n      - call: task_write\n        with: { tasks: [ { content: Test, status: completed, activeForm: Testing } ] }\n      - call: task_check\n      - \"{{ result }}\"\n  - when: { user: bad }\n    answer:\n      - call: task_write\n        with: { tasks: [ { content: Test, status: soon, activeForm: x } ] }\n      - ok";
    let (harness, mut events) = ready(builder(script).await).await;
    harness.send_message("first").await.unwrap();
    let updated = wait_for(&mut events, "task_updated").await;
    assert_eq!(updated["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(json!(harness.tasks()), updated["tasks"]);
    assert_eq!(harness.state_json()["tasks"], updated["tasks"]);
    let outcome = harness.send_message("then").await.unwrap();
    let checked: serde_json::Value =
        serde_json::from_str(json!(outcome.end)["text"].as_str().unwrap()).unwrap();
    assert_eq!(checked["total"], 1);
    assert_eq!(checked["allDone"], true);
    harness.send_message("bad").await.unwrap();
    assert_eq!(harness.tasks().len(), 1);
}

/// M23: a bad change is refused and changes nothing; a good one names the changed keys.
#[tokio::test]
async fn m23_state_changes_are_checked_and_reported() {
    let store = memory().await;
    let (harness, mut events) = ready(builder_on(store.clone(), "default: ok")).await;
    assert!(harness.set_state(json!({"yolo": 3})).await.is_err());
    assert!(harness.set_state(json!({"tasks": [{"content": 1}]})).await.is_err());
    assert!(harness.set_state(json!([1])).await.is_err());
    assert!(names(&mut events).is_empty());
    harness.set_state(json!({"yolo": true, "colour": "red"})).await.unwrap();
    harness.set_state(json!({"yolo": true})).await.unwrap();
    let found = bare(&mut events);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["changedKeys"], json!(["colour", "yolo"]));
    assert_eq!(found[0]["state"]["colour"], "red");
    let (later, _) = ready(builder_on(store, "default: ok")).await;
    assert_eq!(later.state_json()["colour"], "red");
}
