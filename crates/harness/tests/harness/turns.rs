//! Turns and their events.

use ostler_domain::tool::ToolCategory;
use ostler_engine::turn::TurnLimits;
use ostler_harness::{EndReason, PermissionPolicy, PermissionRules, TurnEnd};
use serde_json::json;

use crate::support::{Counter, bare, builder, names, ready, wait_for};

fn all_allowed() -> PermissionRules {
    let categories = [ToolCategory::Read, ToolCategory::Edit, ToolCategory::Other];
    PermissionRules {
        categories: categories.map(|one| (one, PermissionPolicy::Allow)).into(),
        ..PermissionRules::default()
    }
}

/// M27, M51: the first message works on an empty store, with exactly these events.
#[tokio::test]
async fn m27_m51_the_first_message_creates_a_thread() {
    let (harness, mut events) = ready(builder("default: Hello!").await).await;
    let outcome = harness.send_message("Hi").await.unwrap();
    assert_eq!(outcome.reason, EndReason::Complete);
    let found = bare(&mut events);
    let kinds: Vec<&str> = found.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "thread_created",
            "agent_start",
            "message_start",
            "message_end",
            "message_start",
            "message_update",
            "message_end",
            "usage_update",
            "agent_end"
        ]
    );
    assert_eq!(found[1], json!({"type": "agent_start"}));
    assert_eq!(found[2]["message"]["role"], "user");
    assert_eq!(found[2]["message"]["content"], json!([{"type": "text", "text": "Hi"}]));
    assert_eq!(found[5]["message"]["content"], json!([{"type": "text", "text": "Hello!"}]));
    assert_eq!(found[6]["message"]["content"], json!([{"type": "text", "text": "Hello!"}]));
    assert_eq!(found[8], json!({"type": "agent_end", "reason": "complete"}));
    let thread = harness.current_thread().await.unwrap();
    let messages = harness.messages(thread.id, 0, 10).await.unwrap();
    assert_eq!(messages.len(), 2);
    // The ids of streamed and stored messages are the same.
    assert_eq!(json!(messages[1].id), found[6]["message"]["id"]);
}

/// M51: a tool call has its events between the answers.
#[tokio::test]
async fn m51_a_tool_call_starts_and_ends() {
    let note = Counter::new("note", ToolCategory::Edit);
    let script = "rules:\n  - when: { user: note }\n    answer:\n      - call: note\n        with: { text: milk }\n      - Done.";
    let builder = builder(script).await.tool(note.clone()).permission_rules(all_allowed());
    let (harness, mut events) = ready(builder).await;
    harness.send_message("note it").await.unwrap();
    let found = bare(&mut events);
    let start = found.iter().position(|event| event["type"] == "tool_start").unwrap();
    let id = found[start]["toolCallId"].clone();
    assert_eq!(
        found[start],
        json!({"type": "tool_start", "toolCallId": id, "toolName": "note", "args": {"text": "milk"}})
    );
    assert_eq!(
        found[start + 1],
        json!({"type": "tool_end", "toolCallId": id, "result": "noted milk", "isError": false})
    );
    assert_eq!(note.count(), 1);
    let thread = harness.current_thread().await.unwrap();
    let roles: Vec<_> =
        harness.messages(thread.id, 0, 10).await.unwrap().into_iter().map(|one| one.role).collect();
    assert_eq!(json!(roles), json!(["user", "assistant", "tool", "assistant"]));
}

/// M28: a turn stops after the step limit with a clear reason.
#[tokio::test]
async fn m28_a_turn_stops_at_the_step_limit() {
    let look = Counter::new("look", ToolCategory::Read);
    let script = "rules:\n  - when: { step: 1+ }\n    answer: { call: look, with: { text: \"n{{ step }}\" } }";
    let limits = TurnLimits { max_steps: 3, ..TurnLimits::default() };
    let builder = builder(script).await.tool(look).permission_rules(all_allowed()).limits(limits);
    let (harness, mut events) = ready(builder).await;
    let outcome = harness.send_message("go").await.unwrap();
    assert_eq!(outcome.end, TurnEnd::StepLimit { limit: 3 });
    let error = wait_for(&mut events, "error").await;
    assert_eq!(error["error"], "stopped after 3 steps without an answer");
    assert_eq!(wait_for(&mut events, "agent_end").await["reason"], "error");
    assert_eq!(TurnLimits::default().max_steps, 1000);
}

/// M29: a call to an unknown tool is answered once with the tools that exist.
#[tokio::test]
async fn m29_an_unknown_tool_is_corrected_once() {
    let script = "rules:\n  - when: { user: go }\n    answer:\n      - call: nothing\n      - call: nothing\n        with: { again: true }\n      - I see.";
    let (harness, mut events) = ready(builder(script).await).await;
    let outcome = harness.send_message("go").await.unwrap();
    assert_eq!(outcome.reason, EndReason::Complete);
    let first = wait_for(&mut events, "tool_end").await["result"].as_str().unwrap().to_owned();
    assert!(first.contains("ask_user") && first.contains("task_write"), "{first}");
    let second = wait_for(&mut events, "tool_end").await;
    assert_eq!(second["result"], "this tool is not available to you.");
    assert_eq!(second["isError"], true);
}

/// M40: tokens are counted per thread and restored with it.
#[tokio::test]
async fn m40_usage_is_counted_per_thread() {
    let (harness, mut events) = ready(builder("default: Hello!").await).await;
    harness.send_message("Hi").await.unwrap();
    let first = wait_for(&mut events, "usage_update").await["usage"].clone();
    harness.send_message("Hi again").await.unwrap();
    let second = wait_for(&mut events, "usage_update").await["usage"].clone();
    assert!(second["totalTokens"].as_u64() > first["totalTokens"].as_u64());
    let total =
        second["promptTokens"].as_u64().unwrap() + second["completionTokens"].as_u64().unwrap();
    assert_eq!(second["totalTokens"].as_u64(), Some(total));
    let one = harness.current_thread().await.unwrap().id;
    harness.create_thread(None).await.unwrap();
    assert_eq!(harness.token_usage().await.total_tokens, 0);
    harness.switch_thread(one).await.unwrap();
    assert_eq!(harness.token_usage().await.total_tokens, total);
}

/// M44: a failure of the model is an event, and can be retried in place.
#[tokio::test]
async fn m44_an_error_can_be_retried() {
    let script = "rules:\n  - when: { user: hi }\n    times: 1\n    answer: { fail: 503 }\n  - when: { user: hi }\n    answer: Hello!";
    let (harness, mut events) = ready(builder(script).await).await;
    let outcome = harness.send_message("hi").await.unwrap();
    assert_eq!(outcome.reason, EndReason::Error);
    let error = wait_for(&mut events, "error").await;
    assert_eq!(error["retryable"], true);
    names(&mut events);
    let outcome = harness.retry().await.unwrap();
    assert_eq!(outcome.reason, EndReason::Complete);
    assert!(!names(&mut events).contains(&"error".to_owned()));
    let thread = harness.current_thread().await.unwrap();
    assert_eq!(harness.messages(thread.id, 0, 10).await.unwrap().len(), 2);
    assert!(harness.retry().await.is_err());
}

/// An empty message is refused and changes nothing.
#[tokio::test]
async fn an_empty_message_is_refused() {
    let (harness, mut events) = ready(builder("default: Hello!").await).await;
    assert!(harness.send_message("  ").await.is_err());
    assert!(harness.follow_up("").await.is_err());
    assert!(names(&mut events).is_empty());
}
