//! Abort, steer and follow-ups.

use std::time::Duration;

use ostler_harness::{EndReason, HarnessError, MessageRole};
use serde_json::json;

use crate::support::{builder, names, ready, wait_for};

const SLOW: &str = "rules:\n  - when: { user: slow }\n    answer: { text: \"One two three four five\", chunk: 4, pause: 100ms }\ndefault: \"You said: {{ user }}\"";

/// M30: an abort stops the answer; its text is kept and marked.
#[tokio::test]
async fn m30_an_abort_keeps_the_partial_text() {
    let (harness, mut events) = ready(builder(SLOW).await).await;
    let sender = harness.clone();
    let sent = tokio::spawn(async move { sender.send_message("slow").await });
    wait_for(&mut events, "message_update").await;
    assert!(harness.abort().await);
    assert_eq!(sent.await.unwrap().unwrap().reason, EndReason::Aborted);
    let end = wait_for(&mut events, "message_end").await;
    assert_eq!(end["message"]["partial"], true);
    assert_eq!(wait_for(&mut events, "agent_end").await["reason"], "aborted");
    let thread = harness.current_thread().await.unwrap();
    let messages = harness.messages(thread.id, 0, 10).await.unwrap();
    let last = messages.last().unwrap();
    assert!(last.partial && last.role == MessageRole::Assistant, "{last:?}");
    assert!(!harness.abort().await, "nothing is running any more");
}

/// M31: steering aborts, discards the queue and answers the new message.
#[tokio::test]
async fn m31_steering_replaces_the_turn_and_the_queue() {
    let (harness, mut events) = ready(builder(SLOW).await).await;
    let sender = harness.clone();
    let sent = tokio::spawn(async move { sender.send_message("slow").await });
    wait_for(&mut events, "message_update").await;
    harness.follow_up("later").await.unwrap();
    let outcome = harness.steer("now").await.unwrap();
    assert_eq!(outcome.reason, EndReason::Complete);
    assert_eq!(sent.await.unwrap().unwrap().reason, EndReason::Aborted);
    harness.wait_until_idle().await;
    let thread = harness.current_thread().await.unwrap();
    let texts = texts(&harness.messages(thread.id, 0, 20).await.unwrap());
    assert_eq!(texts.last().map(String::as_str), Some("You said: now"));
    assert!(!texts.iter().any(|text| text.contains("later")), "{texts:?}");
    assert_eq!(harness.follow_up_count().await, 0);
}

/// M32: follow-ups are counted, and answered in order after the turn.
#[tokio::test]
async fn m32_follow_ups_are_answered_in_order() {
    let (harness, mut events) = ready(builder(SLOW).await).await;
    let sender = harness.clone();
    let sent = tokio::spawn(async move { sender.send_message("slow").await });
    wait_for(&mut events, "message_update").await;
    assert!(matches!(harness.send_message("no").await, Err(HarnessError::Busy)));
    harness.follow_up("one").await.unwrap();
    assert_eq!(wait_for(&mut events, "follow_up_queued").await["count"], 1);
    harness.follow_up("two").await.unwrap();
    assert_eq!(wait_for(&mut events, "follow_up_queued").await["count"], 2);
    sent.await.unwrap().unwrap();
    harness.wait_until_idle().await;
    let thread = harness.current_thread().await.unwrap();
    let texts = texts(&harness.messages(thread.id, 0, 20).await.unwrap());
    assert_eq!(texts[2..], ["one", "You said: one", "two", "You said: two"]);
    let ends = names(&mut events).iter().filter(|name| *name == "agent_end").count();
    assert_eq!(ends, 3);
    // Idle: sent at once.
    harness.follow_up("three").await.unwrap();
    harness.wait_until_idle().await;
    assert!(!names(&mut events).contains(&"follow_up_queued".to_owned()));
}

/// M32: after an abort the queue stays, and goes on when the user wants it.
#[tokio::test]
async fn m32_an_abort_keeps_the_queue() {
    let (harness, mut events) = ready(builder(SLOW).await).await;
    let sender = harness.clone();
    tokio::spawn(async move { sender.send_message("slow").await });
    wait_for(&mut events, "message_update").await;
    harness.follow_up("one").await.unwrap();
    harness.abort().await;
    assert_eq!(harness.follow_up_count().await, 1);
    assert!(!harness.is_running().await);
    assert_eq!(harness.resume().await.unwrap().reason, EndReason::Complete);
    assert!(matches!(harness.resume().await, Err(HarnessError::NothingToResume)));
}

/// A turn goes on when the caller no longer waits for it.
#[tokio::test]
async fn dropping_the_future_does_not_stop_the_turn() {
    let (harness, mut events) = ready(builder(SLOW).await).await;
    let waited =
        tokio::time::timeout(Duration::from_millis(50), harness.send_message("slow")).await;
    assert!(waited.is_err());
    let end = wait_for(&mut events, "agent_end").await;
    assert_eq!(end["reason"], "complete");
}

fn texts(messages: &[ostler_harness::HarnessMessage]) -> Vec<String> {
    let text = |message: &ostler_harness::HarnessMessage| {
        json!(message)["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    messages.iter().map(text).collect()
}
