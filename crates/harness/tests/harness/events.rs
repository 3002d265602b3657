//! The event stream.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_harness::HarnessEvent;
use serde_json::{Value, json};

use crate::support::{builder, kind, names, ready, to_json};

/// M39, Z03: every subscriber sees the same events in order; one that is far behind
/// continues from the store without a gap or a repeat.
#[tokio::test]
async fn m39_z03_a_slow_subscriber_misses_nothing() {
    let (harness, mut quick) = ready(builder("default: ok").await).await;
    let mut slow = harness.subscribe();
    let mut ids = Vec::new();
    for turn in 0..150 {
        harness.send_message(format!("message {turn}")).await.unwrap();
        ids.extend(durable(std::iter::from_fn(|| quick.try_next())));
    }
    let mut found = Vec::new();
    while found.len() < ids.len() {
        found.extend(durable([slow.next().await].into_iter()));
    }
    assert_eq!(found, ids);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert!(ids.is_sorted());
    // A reader that comes back after any event continues behind it.
    let thread = harness.current_thread().await.unwrap().id;
    for at in [0, 1, 77, ids.len() - 2] {
        let mut again = harness.subscribe_after(thread, ids[at]);
        let mut rest = Vec::new();
        while rest.len() < ids.len() - at - 1 {
            rest.extend(durable([again.next().await].into_iter()));
        }
        assert_eq!(rest, ids[at + 1..]);
    }
}

fn durable(events: impl Iterator<Item = Arc<HarnessEvent>>) -> Vec<i64> {
    events.filter_map(|event| event.ext.id).collect()
}

/// M39: dropping a subscription unsubscribes; a dead one never delays a turn.
#[tokio::test]
async fn m39_a_dead_subscriber_delays_nothing() {
    let (harness, events) = ready(builder("default: ok").await).await;
    let idle = harness.subscribe();
    drop(events);
    for _ in 0..300 {
        harness.send_message("hi").await.unwrap();
    }
    drop(idle);
    let mut events = harness.subscribe();
    harness.send_message("hi").await.unwrap();
    assert_eq!(names(&mut events).last().map(String::as_str), Some("agent_end"));
    assert!(futures_util::FutureExt::now_or_never(events.next()).is_none());
}

/// M39: the JSON form has the keys of the kind and `ext`, and can be read again.
#[tokio::test]
async fn m39_events_can_be_read_again() {
    let (harness, mut events) = ready(builder("default: ok").await).await;
    harness.send_message("hi").await.unwrap();
    while let Some(event) = events.try_next() {
        let json = to_json(&event);
        assert!(json["ext"]["at"].is_number(), "{json}");
        let again: HarnessEvent = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(to_json(&again), json);
    }
}

/// The events of the contract with their keys; `?` marks one that may be absent.
pub(crate) const CONTRACT: [(&str, &[&str]); 35] = [
    ("mode_changed", &["modeId", "previousModeId"]),
    ("model_changed", &["modelId", "scope?", "modeId?"]),
    ("state_changed", &["state", "changedKeys"]),
    ("thread_created", &["thread"]),
    ("thread_changed", &["threadId", "previousThreadId"]),
    ("agent_start", &[]),
    ("agent_end", &["reason"]),
    ("message_start", &["message"]),
    ("message_update", &["message"]),
    ("message_end", &["message"]),
    ("tool_start", &["toolCallId", "toolName", "args"]),
    ("tool_approval_required", &["toolCallId", "toolName", "args"]),
    ("tool_end", &["toolCallId", "result", "isError"]),
    ("usage_update", &["usage"]),
    ("error", &["error", "retryable?"]),
    ("ask_question", &["questionId", "question", "options?"]),
    ("plan_approval_required", &["planId", "title?", "plan"]),
    ("task_updated", &["tasks"]),
    ("subagent_start", &["agentType", "task"]),
    ("subagent_end", &["agentType", "durationMs"]),
    ("om_status", &["windows", "recordId", "threadId", "stepNumber", "generationCount"]),
    ("om_observation_start", &[]),
    ("om_observation_end", &[]),
    ("om_observation_failed", &[]),
    ("om_reflection_start", &[]),
    ("om_reflection_end", &[]),
    ("om_reflection_failed", &[]),
    ("om_buffering_start", &[]),
    ("om_buffering_end", &[]),
    ("om_buffering_failed", &[]),
    ("om_activation", &[]),
    ("workspace_status_changed", &["status"]),
    ("workspace_ready", &[]),
    ("workspace_error", &["error"]),
    ("follow_up_queued", &["count"]),
];

/// A value that fits a key of the contract.
fn sample(key: &str) -> Value {
    let message = json!({"id": "m", "role": "user", "content": [], "createdAt": 1});
    let thread = json!({"id": "thr_00000000000000000000000001", "resourceId": "r", "createdAt": 1,
        "updatedAt": 1, "messageCount": 0, "metadata": {"tokenUsage": {"promptTokens": 0,
        "completionTokens": 0, "totalTokens": 0}}});
    match key {
        "message" => message,
        "thread" => thread,
        "threadId" | "previousThreadId" => json!("thr_00000000000000000000000001"),
        "state" | "args" => json!({}),
        "changedKeys" | "tasks" | "options" => json!([]),
        "isError" | "retryable" => json!(true),
        "durationMs" | "count" | "stepNumber" | "generationCount" => json!(1),
        "usage" => json!({"promptTokens": 1, "completionTokens": 1, "totalTokens": 2}),
        "reason" => json!("complete"),
        "status" => json!("ready"),
        _ => json!("text"),
    }
}

/// M39: each of the 35 events has exactly the keys of the contract, and `ext`.
#[test]
fn m39_events_have_the_keys_of_the_contract() {
    for (kind, keys) in CONTRACT {
        // The windows of a memory are built by the memory itself; its tests show them.
        if kind == "om_status" {
            continue;
        }
        let mut event = json!({"type": kind, "ext": {"at": 1}});
        for key in keys {
            let key = key.trim_end_matches('?');
            event[key] = sample(key);
        }
        let read: HarnessEvent =
            serde_json::from_value(event.clone()).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(to_json(&read), event, "{kind}");
        // Without one of the required keys it is another event, or none.
        for key in keys.iter().filter(|key| !key.ends_with('?')) {
            let mut less = event.clone();
            less.as_object_mut().unwrap().remove(*key);
            let read: Result<HarnessEvent, _> = serde_json::from_value(less);
            let same = read.is_ok_and(|read| to_json(&read)["type"] == kind);
            let optional_value = *key == "previousThreadId";
            assert!(!same || optional_value, "{kind} without {key}");
        }
    }
}

/// Z03: readers that join at any moment of a turn get every stored event once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z03_readers_that_join_during_a_turn_miss_nothing() {
    let (harness, _) = ready(builder("default: Yes.").await).await;
    let thread = harness.create_thread(None).await.unwrap().id;
    let mut last = harness.current_events().last_id;
    for round in 0..150 {
        let sender = harness.clone();
        let turn = tokio::spawn(async move { sender.send_message("hello").await.unwrap().turn });
        for _ in 0..round % 16 {
            tokio::task::yield_now().await;
        }
        let mut events = harness.subscribe_after(thread, last);
        let mut ended = false;
        while !ended {
            let event = events.next().await;
            ended = kind(&event) == "agent_end";
            if let Some(id) = event.ext.id {
                assert_eq!(id, last + 1, "round {round}");
                last = id;
            }
        }
        turn.await.unwrap();
        // The status of the memory and the like.
        while let Some(event) = events.try_next() {
            last = event.ext.id.unwrap_or(last);
        }
    }
}
