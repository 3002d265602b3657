//! Questions.

use ostler_harness::HarnessError;
use serde_json::json;

use crate::support::{builder, ready, wait_for};

/// M33: the answer becomes the result of the call; a UI that connects late sees the
/// question.
#[tokio::test]
async fn m33_a_question_waits_for_its_answer() {
    let script = "rules:\n  - when: { user: go }\n    answer:\n      - call: ask_user\n        with: { question: \"Which one?\", options: [red, blue] }\n      - \"You chose {{ result }}.\"";
    let (harness, mut events) = ready(builder(script).await).await;
    let sender = harness.clone();
    let sent = tokio::spawn(async move { sender.send_message("go").await });
    let asked = wait_for(&mut events, "ask_question").await;
    assert_eq!(
        (&asked["question"], &asked["options"]),
        (&json!("Which one?"), &json!(["red", "blue"]))
    );
    let id = asked["questionId"].as_str().unwrap().to_owned();
    // Another reader begins from the store.
    let thread = harness.current_thread().await.unwrap().id;
    let mut late = harness.subscribe_after(thread, 0);
    assert_eq!(wait_for(&mut late, "ask_question").await["questionId"], json!(id));
    assert_eq!(harness.open_asks().await[0].id, id);
    harness.respond_to_question(&id, "blue").await.unwrap();
    let outcome = sent.await.unwrap().unwrap();
    assert_eq!(json!(outcome.end)["text"], "You chose blue.");
    let again = harness.respond_to_question(&id, "red").await;
    assert!(matches!(again, Err(HarnessError::AskNotOpen(_))));
}

/// Mastra reads only the last of several cards: here each is answered by its id, in any
/// order.
#[tokio::test]
async fn only_the_last_of_several_cards_is_read() {
    let script = "rules:\n  - when: { user: go }\n    answer:\n      - calls:\n          - { tool: ask_user, with: { question: First } }\n          - { tool: ask_user, with: { question: Second } }\n      - both";
    let (harness, mut events) = ready(builder(script).await).await;
    let sender = harness.clone();
    let sent = tokio::spawn(async move { sender.send_message("go").await });
    let first = wait_for(&mut events, "ask_question").await;
    let second = wait_for(&mut events, "ask_question").await;
    assert_eq!((&first["question"], &second["question"]), (&json!("First"), &json!("Second")));
    assert_eq!(harness.open_asks().await.len(), 2);
    harness.respond_to_question(second["questionId"].as_str().unwrap(), "two").await.unwrap();
    harness.respond_to_question(first["questionId"].as_str().unwrap(), "one").await.unwrap();
    sent.await.unwrap().unwrap();
    let thread = harness.current_thread().await.unwrap().id;
    let messages = harness.messages(thread, 0, 10).await.unwrap();
    let results: Vec<_> = json!(messages[2])["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["result"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(results, ["one", "two"]);
}

/// An aborted turn closes its questions.
#[tokio::test]
async fn m33_an_abort_closes_the_question() {
    let script = "default: { call: ask_user, with: { question: Well? } }";
    let (harness, mut events) = ready(builder(script).await).await;
    let sender = harness.clone();
    tokio::spawn(async move { sender.send_message("go").await });
    let id = wait_for(&mut events, "ask_question").await["questionId"].clone();
    assert!(harness.abort().await);
    assert_eq!(wait_for(&mut events, "ask_closed").await["askId"], id);
    assert_eq!(wait_for(&mut events, "agent_end").await["reason"], "aborted");
    assert!(harness.open_asks().await.is_empty());
    assert!(harness.respond_to_question(id.as_str().unwrap(), "late").await.is_err());
}

/// Z01: a question of a thread that is let go of is answered in another harness, and a
/// reader that joins late learns what is going on.
#[tokio::test]
async fn z01_a_suspended_question_is_answered_in_another_harness() {
    let store = crate::support::memory().await;
    let script = "rules:\n  - when: { user: question }\n    answer:\n      - call: ask_user\n        with: { question: Well? }\n      - \"answered {{ result }}\"\n  - when: { user: slow }\n    answer: { text: One two three, chunk: 3, pause: 100ms }";
    let (first, mut events) = ready(crate::support::builder_on(store.clone(), script)).await;
    let slow = first.start_message("slow").await.unwrap();
    wait_for(&mut events, "message_update").await;
    let draft = first.current_events().draft.expect("a draft");
    assert_eq!(crate::support::kind(&draft), "message_update");
    slow.ended().await;
    assert!(first.current_events().draft.is_none());
    let turn = first.start_message("question").await.unwrap();
    let asked = wait_for(&mut events, "ask_question").await;
    let current = first.current_events();
    assert_eq!(current.asks.len(), 1);
    assert_eq!(current.last_id, asked["ext"]["id"].as_i64().unwrap());
    assert_eq!(first.current_turn_id().await, Some(turn.id));
    first.suspend().await.unwrap();

    let (second, mut events) = ready(crate::support::builder_on(store, script)).await;
    second.select_or_create_thread().await.unwrap();
    let again = wait_for(&mut events, "ask_question").await;
    assert_eq!(again["questionId"], asked["questionId"]);
    second.respond_to_question(asked["questionId"].as_str().unwrap(), "yes").await.unwrap();
    assert_eq!(wait_for(&mut events, "agent_end").await["reason"], "complete");
    assert!(second.current_events().asks.is_empty());
}
