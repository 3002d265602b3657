//! The wire form of events and stream parts.

use ostler_domain::memory::MessageSpan;
use ostler_harness::memory::{
    MemoryEvent, MemoryPart, OmActivation, OmOperation, OmTask, load_om_progress,
};
use ostler_testkit::TestDatabase;
use serde_json::{Value, json};

use crate::support::{FunctionModel, ORG, THREAD, TestThread, observe_facts, small, text};

fn task(operation_type: OmOperation) -> OmTask {
    OmTask {
        cycle_id: format!("{THREAD}.1"),
        operation_type,
        thread_id: THREAD,
        tokens: 400,
        span: None,
        attempt: 1,
        observation_tokens: None,
        duration_ms: None,
        error: None,
        retry_at: None,
    }
}

/// M49: the eight parts map to events as in the table, and back.
#[test]
fn m49_stream_parts_map_to_events() {
    let (observing, reflecting) = (OmOperation::Observation, OmOperation::Reflection);
    let activation = OmActivation {
        operation_type: observing,
        thread_id: THREAD,
        chunks_activated: 2,
        span: MessageSpan { first: 1, last: 9 },
        tokens_activated: 400,
        observation_tokens: 40,
    };
    type Make = fn(OmTask) -> MemoryPart;
    let table: [(Make, &str, OmOperation, &str); 9] = [
        (
            MemoryPart::ObservationStart,
            "data-om-observation-start",
            observing,
            "om_observation_start",
        ),
        (MemoryPart::ObservationEnd, "data-om-observation-end", observing, "om_observation_end"),
        (
            MemoryPart::ObservationFailed,
            "data-om-observation-failed",
            observing,
            "om_observation_failed",
        ),
        (
            MemoryPart::ObservationStart,
            "data-om-observation-start",
            reflecting,
            "om_reflection_start",
        ),
        (MemoryPart::ObservationEnd, "data-om-observation-end", reflecting, "om_reflection_end"),
        (
            MemoryPart::ObservationFailed,
            "data-om-observation-failed",
            reflecting,
            "om_reflection_failed",
        ),
        (MemoryPart::BufferingStart, "data-om-buffering-start", observing, "om_buffering_start"),
        (MemoryPart::BufferingEnd, "data-om-buffering-end", observing, "om_buffering_end"),
        (MemoryPart::BufferingFailed, "data-om-buffering-failed", observing, "om_buffering_failed"),
    ];
    let check = |part: MemoryPart, kind: &str, name: &str| {
        assert_eq!(json!(part)["type"], kind);
        let read: MemoryPart = serde_json::from_value(json!(part)).unwrap();
        let event = MemoryEvent::from(read);
        assert_eq!(json!(event)["type"], name);
        assert_eq!(keys(&json!(event)), ["ext", "type"], "{name}");
        assert_eq!(MemoryPart::from(event), part);
    };
    for (make, kind, operation, name) in table {
        check(make(task(operation)), kind, name);
    }
    check(MemoryPart::Activation(activation), "data-om-activation", "om_activation");
}

/// M18, M49: the status has exactly the keys of the contract, and the last one is stored.
#[tokio::test(flavor = "multi_thread")]
async fn m18_m49_the_last_status_is_stored() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        assert_eq!(load_om_progress(&store, ORG, THREAD).await.unwrap(), None);
        let mut thread = TestThread::open(&store, small(), FunctionModel::new(observe_facts)).await;
        for _ in 0..4 {
            thread.turn(&text("fact", 90)).await;
        }
        thread.memory.status(5);
        // No message arrives while the background works, so the counts are the same.
        for _ in 0..3 {
            thread.say(&text("fact", 90)).await;
            thread.settle(1).await;
        }
        let events = thread.events.lock().unwrap().clone();
        let last = events.iter().rev().find_map(|event| match event {
            MemoryEvent::Status(status) => Some(status.clone()),
            _ => None,
        });
        let stored = load_om_progress(&store, ORG, THREAD).await.unwrap();
        assert_eq!((stored.is_some(), &stored), (true, &last));
        let event = json!(MemoryEvent::Status(stored.unwrap()));
        assert_eq!(
            keys(&event),
            ["generationCount", "recordId", "stepNumber", "threadId", "type", "windows"]
        );
        assert_eq!((&event["stepNumber"], &event["threadId"]), (&json!(5), &json!(THREAD)));
        let windows = &event["windows"];
        assert_eq!(keys(windows), ["active", "buffered"]);
        assert_eq!(windows["active"]["messages"]["threshold"], 1000);
        assert_eq!(windows["buffered"]["observations"]["status"], "complete");
        assert_eq!(windows["buffered"]["reflection"]["status"], "idle");
    }
}

/// The names of the members, in alphabetical order.
fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    keys.sort_unstable();
    keys
}
