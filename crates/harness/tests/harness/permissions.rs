//! Permissions through the one gate.

use std::sync::Arc;

use ostler_domain::scope::ToolScope;
use ostler_domain::tool::{ToolCategory, ToolName};
use ostler_harness::{ApprovalResponse, HarnessError, PermissionPolicy};
use serde_json::json;

use crate::support::{Counter, builder, builder_on, memory, names, ready, wait_for};

const SCRIPT: &str = "rules:\n  - when: { user: go }\n    answer:\n      - call: note\n        with: { text: milk }\n      - \"{{ result }}\"";
const NOTE: ToolName = ToolName::from_static("note");

/// M12: allow runs, deny refuses without running, ask waits.
#[tokio::test]
async fn m12_allow_deny_and_ask() {
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, mut events) = ready(builder(SCRIPT).await.tool(note.clone())).await;
    harness.set_tool_policy(NOTE, Some(PermissionPolicy::Allow)).await.unwrap();
    harness.send_message("go").await.unwrap();
    assert_eq!(note.count(), 1);
    harness.set_tool_policy(NOTE, Some(PermissionPolicy::Deny)).await.unwrap();
    harness.send_message("go").await.unwrap();
    assert_eq!(note.count(), 1);
    names(&mut events);
    harness.set_tool_policy(NOTE, None).await.unwrap();
    let sender = harness.clone();
    let sent = tokio::spawn(async move { sender.send_message("go").await });
    let asked = wait_for(&mut events, "tool_approval_required").await;
    assert_eq!((&asked["toolName"], &asked["args"]), (&json!("note"), &json!({"text": "milk"})));
    assert_eq!(asked["ext"]["why"], "no rule, so it asks");
    assert_eq!(note.count(), 1);
    let id = asked["toolCallId"].as_str().unwrap();
    harness.respond_to_tool_approval(id, ApprovalResponse::Approve).await.unwrap();
    sent.await.unwrap().unwrap();
    assert_eq!(note.count(), 2);
    let again = harness.respond_to_tool_approval(id, ApprovalResponse::Approve).await;
    assert!(matches!(again, Err(HarnessError::AskNotOpen(_))));
}

/// M11: a harness that sets a policy keeps those that another one has stored meanwhile.
#[tokio::test]
async fn m11_policies_of_several_harnesses_are_all_kept() {
    let store = memory().await;
    let (first, _) = ready(builder_on(store.clone(), SCRIPT)).await;
    let (second, _) = ready(builder_on(store.clone(), SCRIPT)).await;
    let tools = ["one", "two", "three", "four"].map(ToolName::from_static);
    let deny = Some(PermissionPolicy::Deny);
    let [one, two, three, four] = tools.clone();
    let (a, b, c, d, e) = tokio::join!(
        first.set_tool_policy(one, deny),
        second.set_tool_policy(two, deny),
        first.set_tool_policy(three, deny),
        second.set_tool_policy(four, deny),
        second.set_category_policy(ToolCategory::Mcp, deny),
    );
    for result in [a, b, c, d, e] {
        result.unwrap();
    }
    let (later, _) = ready(builder_on(store, SCRIPT)).await;
    let rules = later.permission_rules();
    assert_eq!(rules.tools.keys().cloned().collect::<Vec<_>>(), {
        let mut names = tools.to_vec();
        names.sort();
        names
    });
    assert_eq!(rules.categories.len(), 1);
}

/// M13: declined calls do not run; always grants the category until the harness ends.
#[tokio::test]
async fn m13_decline_and_always_allow() {
    let store = memory().await;
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, mut events) = ready(builder_on(store.clone(), SCRIPT).tool(note.clone())).await;
    let ask = |answer: ApprovalResponse| {
        let harness = harness.clone();
        let mut events = harness.subscribe();
        async move {
            let sender = harness.clone();
            let sent = tokio::spawn(async move { sender.send_message("go").await });
            let asked = wait_for(&mut events, "tool_approval_required").await;
            let id = asked["toolCallId"].as_str().unwrap();
            harness.respond_to_tool_approval(id, answer).await.unwrap();
            sent.await.unwrap().unwrap()
        }
    };
    let declined = ask(ApprovalResponse::Decline { reason: Some("not now".into()) }).await;
    assert_eq!(json!(declined.end)["text"], "A person rejected this call: not now");
    assert_eq!(note.count(), 0);
    let edited = ask(ApprovalResponse::ApproveWith(json!({"text": "tea"}))).await;
    assert_eq!(json!(edited.end)["text"], "noted tea");
    ask(ApprovalResponse::AlwaysAllowCategory).await;
    names(&mut events);
    harness.send_message("go").await.unwrap();
    assert!(!names(&mut events).contains(&"tool_approval_required".to_owned()));
    assert_eq!(note.count(), 3);
    harness.close().await.unwrap();
    // The grant is not stored.
    let (later, _) = ready(builder_on(store, SCRIPT).tool(note.clone())).await;
    assert!(later.session_grants().categories.is_empty());
}

/// Arguments that do not fit the schema are refused, and the question stays open.
#[tokio::test]
async fn m13_edited_arguments_are_checked() {
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, mut events) = ready(builder(SCRIPT).await.tool(note.clone())).await;
    let sender = harness.clone();
    let sent = tokio::spawn(async move { sender.send_message("go").await });
    let asked = wait_for(&mut events, "tool_approval_required").await;
    let id = asked["toolCallId"].as_str().unwrap();
    let bad = ApprovalResponse::ApproveWith(json!({"text": 5}));
    let refused = harness.respond_to_tool_approval(id, bad).await;
    assert!(matches!(refused, Err(HarnessError::InvalidArguments(_))));
    let other = harness.respond_to_question(id, "yes").await;
    assert!(matches!(other, Err(HarnessError::OtherKindOfAsk { .. })));
    assert_eq!(harness.open_asks().await.len(), 1);
    harness.respond_to_tool_approval(id, ApprovalResponse::Approve).await.unwrap();
    sent.await.unwrap().unwrap();
    assert_eq!(note.count(), 1);
}

/// M14: yolo allows everything inside the scope, and nothing beyond it.
#[tokio::test]
async fn m14_yolo_stays_inside_the_policy_layers() {
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, _) = ready(builder(SCRIPT).await.tool(note.clone())).await;
    harness.set_state(json!({"yolo": true})).await.unwrap();
    harness.send_message("go").await.unwrap();
    assert_eq!(note.count(), 1);
    let without_note = Arc::new(|specs: Vec<ostler_domain::tool::ToolSpec>| {
        ToolScope::unrestricted(specs.into_iter().filter(|spec| spec.name != NOTE))
    });
    let (bounded, _) = ready(builder(SCRIPT).await.tool(note.clone()).scope(without_note)).await;
    bounded.set_state(json!({"yolo": true})).await.unwrap();
    let outcome = bounded.send_message("go").await.unwrap();
    assert_eq!(note.count(), 1);
    let text = json!(outcome.end)["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("this tool is not available to you"), "{text}");
}

/// Rules are stored and hold in later sessions.
#[tokio::test]
async fn m11_rules_are_kept() {
    let store = memory().await;
    let (harness, _) = ready(builder_on(store.clone(), SCRIPT)).await;
    harness.set_tool_policy(NOTE, Some(PermissionPolicy::Deny)).await.unwrap();
    harness.set_category_policy(ToolCategory::Read, Some(PermissionPolicy::Allow)).await.unwrap();
    let (later, _) = ready(builder_on(store, SCRIPT)).await;
    assert_eq!(later.permission_rules(), harness.permission_rules());
}
