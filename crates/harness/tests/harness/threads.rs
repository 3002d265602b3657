//! Threads.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use ostler_domain::id::{OrgId, RunId};
use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::history::{CallId, Content, Item, Media, ToolCall};
use ostler_engine::model::{Chunk, Model, ModelError, Request, StopReason};
use ostler_harness::{
    Harness, HarnessAgent, HarnessError, HarnessMode, MessageInput, NoState, Store,
};
use ostler_store::{JournalEntry, JournalKind, ThreadClaim, ThreadCommit};
use serde_json::json;

use crate::support::{builder_on, memory, model, names, ready, wait_for};

fn of_resource(store: &Store, resource: &str) -> Harness {
    let builder = Harness::<NoState>::builder("test", store.clone()).resource_id(resource);
    builder
        .model(model("default: Yes."))
        .mode(HarnessMode::new("build", "Build", HarnessAgent::new("builder", "You build.")))
        .build()
        .unwrap()
}

/// M24: threads of another resource are never listed or opened.
#[tokio::test]
async fn m24_threads_belong_to_a_resource() {
    let store = memory().await;
    let (anna, ben) = (of_resource(&store, "anna"), of_resource(&store, "ben"));
    let mut events = anna.subscribe();
    let first = anna.create_thread(Some("First")).await.unwrap();
    let created = wait_for(&mut events, "thread_created").await;
    assert_eq!(created["thread"]["id"], json!(first.id));
    assert_eq!(created["thread"]["metadata"]["tokenUsage"]["totalTokens"], 0);
    anna.send_message("hello").await.unwrap();
    let second = anna.create_thread(None).await.unwrap();
    let ids: Vec<_> = anna.list_threads().await.unwrap().iter().map(|one| one.id).collect();
    assert_eq!(ids.len(), 2);
    assert!(ben.list_threads().await.unwrap().is_empty());
    anna.close().await.unwrap();
    let refused = ben.switch_thread(first.id).await;
    assert!(matches!(refused, Err(HarnessError::UnknownThread(_))), "{refused:?}");
    assert!(ben.messages(first.id, 0, 10).await.is_err());
    // The most recently used one is selected.
    let again = of_resource(&store, "anna");
    assert_eq!(again.select_or_create_thread().await.unwrap().id, second.id);
    again.rename_thread("Second").await.unwrap();
    assert_eq!(again.list_threads().await.unwrap()[0].title.as_deref(), Some("Second"));
    assert!(ben.select_or_create_thread().await.unwrap().id != second.id);
}

/// M25, M26: switching restores mode, model, usage, tasks and settings.
#[tokio::test]
async fn m25_m26_switching_restores_the_thread() {
    let (harness, mut events) = ready(builder_on(memory().await, "default: Yes.")).await;
    let one = harness.create_thread(None).await.unwrap().id;
    harness.send_message("hello").await.unwrap();
    harness.persist_thread_setting("colour", json!("green")).await.unwrap();
    let tasks = json!([{"content": "Test", "status": "pending", "activeForm": "Testing"}]);
    harness.set_state(json!({"tasks": tasks})).await.unwrap();
    let usage = harness.token_usage().await;
    names(&mut events);
    let two = harness.create_thread(None).await.unwrap().id;
    assert_eq!(harness.tasks(), []);
    harness.switch_thread(one).await.unwrap();
    let changed = wait_for(&mut events, "thread_changed").await;
    assert_eq!((&changed["threadId"], &changed["previousThreadId"]), (&json!(two), &json!(one)));
    let changed = wait_for(&mut events, "thread_changed").await;
    assert_eq!((&changed["threadId"], &changed["previousThreadId"]), (&json!(one), &json!(two)));
    assert_eq!(harness.token_usage().await, usage);
    assert_eq!(json!(harness.tasks()), tasks);
    let metadata = json!(harness.current_thread().await.unwrap().metadata);
    assert_eq!(metadata["colour"], "green");
}

/// A thread is copied whole or up to a message; the original stays as it is.
#[tokio::test]
async fn m24_threads_are_cloned_forked_searched_and_deleted() {
    let (harness, _) = ready(builder_on(memory().await, "default: \"Heard: {{ user }}\"")).await;
    let first = harness.create_thread(Some("Pears")).await.unwrap().id;
    harness.send_message("one").await.unwrap();
    harness.send_message("two 100%").await.unwrap();
    let copy = harness.clone_thread(Some("Copy")).await.unwrap();
    assert_eq!((copy.message_count, copy.parent_id), (4, Some(first)));
    harness.switch_thread(first).await.unwrap();
    let fork = harness.fork_thread(2, None).await.unwrap();
    assert_eq!(fork.message_count, 2);
    harness.send_message("three").await.unwrap();
    assert_eq!(harness.messages(fork.id, 0, 10).await.unwrap().len(), 4);
    assert_eq!(harness.messages(first, 0, 10).await.unwrap().len(), 4);
    let found = |text: &'static str| {
        let harness = harness.clone();
        async move {
            let threads = harness.search_threads(text).await.unwrap();
            threads.into_iter().map(|one| one.id).collect::<Vec<_>>()
        }
    };
    assert_eq!(found("pears").await, [first]);
    assert_eq!(found("THREE").await, [fork.id]);
    assert_eq!(found("100%").await.len(), 2);
    assert!(found("100_").await.is_empty());
    harness.delete_thread(first).await.unwrap();
    assert!(harness.messages(first, 0, 10).await.is_err());
    assert_eq!(harness.list_threads().await.unwrap().len(), 2);
    harness.delete_thread(fork.id).await.unwrap();
    assert!(harness.current_thread().await.is_none());
}

/// A second harness cannot write to a thread that is in use.
#[tokio::test]
async fn z01_a_thread_in_use_is_not_shared_silently() {
    let store = memory().await;
    let (first, second) = (of_resource(&store, "anna"), of_resource(&store, "anna"));
    let thread = first.create_thread(None).await.unwrap().id;
    let refused = second.switch_thread(thread).await.unwrap_err();
    assert!(refused.to_string().contains("is in use by test (process"), "{refused}");
    first.close().await.unwrap();
    second.switch_thread(thread).await.unwrap();
    second.send_message("hello").await.unwrap();
}

/// Says how many images with their bytes it is shown.
struct ImageCounter;

impl Model for ImageCounter {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let parts = request.history.iter().flat_map(|item| match item {
            Item::User { content } => content.as_slice(),
            _ => &[],
        });
        let seen = parts.filter(|part| part.media().is_some_and(|media| media.data.is_some()));
        let text = format!("I see {}", seen.count());
        let chunks = [Chunk::Text(text), Chunk::Done(StopReason::End)];
        stream::iter(chunks.map(Ok)).boxed()
    }

    fn price(&self) -> ModelPrice {
        ModelPrice::new(Usd::from_micros(0), Usd::from_micros(0))
    }
}

/// Z01: images are stored with their thread, so a process that opens it later sees them too,
/// also those of messages that wait in the queue.
#[tokio::test]
async fn z01_images_are_seen_after_a_restart() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";
    let store = memory().await;
    let open = || {
        let mode = HarnessMode::new("build", "Build", HarnessAgent::new("builder", "You build."));
        let builder = Harness::<NoState>::builder("images", store.clone());
        builder.model(Arc::new(ImageCounter)).mode(mode).build().unwrap()
    };
    let first = open();
    first.init().await.unwrap();
    let stored = Content::Image(first.add_image(Some("a.png"), PNG.to_vec()).await.unwrap());
    let data = Some(stored.media().and_then(|media| media.data.clone()).unwrap());
    let given = Content::Image(Media { data, media_type: "image/png".into(), ..Media::default() });
    let message = MessageInput::with_attachments("Look", vec![stored, given]);
    let said = json!(first.send_message(message).await.unwrap().end);
    assert_eq!(said["text"], "I see 2");
    let thread = first.current_thread().await.unwrap().id;
    first.close().await.unwrap();

    let second = open();
    second.init().await.unwrap();
    second.switch_thread(thread).await.unwrap();
    let said = json!(second.send_message("And now?").await.unwrap().end);
    assert_eq!(said["text"], "I see 2");
    let refused = second.add_image(None, b"no image".to_vec()).await;
    assert!(matches!(refused, Err(HarnessError::NotAnImage)));
}

/// M24: a message or a turn that cannot be read does not hide its thread, and calls without
/// their results are not shown to the model.
#[tokio::test]
async fn m24_a_torn_tail_does_not_hide_a_thread() {
    let store = memory().await;
    let first = of_resource(&store, "anna");
    first.send_message("hello").await.unwrap();
    let thread = first.current_thread().await.unwrap().id;
    first.close().await.unwrap();
    let org = store.org(OrgId::from_u128(0));
    let claim = org.claim_thread(thread, "torn", Duration::from_secs(60)).await.unwrap();
    let ThreadClaim::Claimed { lease, .. } = claim else { panic!("{claim:?}") };
    let turn = RunId::from_u128(1);
    let call = ToolCall::new(CallId::new("a"), "look", "{}");
    let item = Item::Assistant { text: String::new(), calls: vec![call], partial: false };
    let whole = json!({"item": item, "at": 0}).to_string();
    let state = JournalEntry { turn, kind: JournalKind::State, data: "{\"versi".into() };
    let torn = ThreadCommit {
        messages: vec![whole, "{\"item\": {\"role\": \"res".into()],
        first_seq: 3,
        journal: vec![state],
        ..ThreadCommit::new(turn)
    };
    org.commit_thread(lease, torn).await.unwrap();
    org.release_thread(lease).await.unwrap();

    let second = of_resource(&store, "anna");
    second.init().await.unwrap();
    second.switch_thread(thread).await.unwrap();
    let said = json!(second.send_message("still there?").await.unwrap().end);
    assert_eq!(said["text"], "Yes.");
    let messages = second.messages(thread, 0, 10).await.unwrap();
    assert_eq!(messages.len(), 6, "{messages:?}");
    assert_eq!(json!(messages[3].content)[0]["text"], "[This message cannot be read.]");
}
