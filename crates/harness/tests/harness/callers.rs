//! Callers that stop waiting: every operation is begun, polled a few times and dropped. It
//! is carried out all the same, and the harness goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use ostler_domain::gate::permission::{PermissionPolicy, PermissionRules};
use ostler_domain::money::price::ModelPrice;
use ostler_domain::tool::{ToolCategory, ToolName};
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_harness::{
    ApprovalResponse, EndReason, Harness, HarnessAgent, HarnessMode, HarnessSubagent,
    HeartbeatHandler, ModelScope, NoState, PlanResponse, Store,
};
use serde_json::{Value, json};

use crate::support::{Counter, builder, check_turns, memory, model, ready, to_json, wait_for};

/// A future is polled up to this many times before it is dropped.
const POLLS: usize = 3;
const SCRIPT: &str = "rules:\n  - when: { user: slow }\n    answer: { text: \"One two\", chunk: 4, pause: 200ms }\n  - when: { user: question }\n    answer:\n      - call: ask_user\n        with: { question: Well? }\n      - \"You chose {{ result }}\"\n  - when: { user: approval }\n    answer:\n      - call: note\n      - done\n  - when: { user: { is: plan } }\n    answer:\n      - call: submit_plan\n        with: { plan: Do it }\n      - planned\n  - when: { user: broken }\n    times: 1\n    answer: { fail: 503 }\ndefault: \"You said: {{ user }}\"";

/// What the harness does when the operation comes.
#[derive(Clone, Copy, PartialEq)]
enum Situation {
    Idle,
    /// A turn runs, and the follow-ups `one` and `two` wait.
    Answering,
    /// No turn runs, and the follow-ups `one` and `two` wait.
    Queued,
    /// A turn waits for an answer to this message.
    Asking(&'static str),
    /// The last turn failed.
    Failed,
}
use Situation::{Answering, Asking, Failed, Idle, Queued};

/// The operation that is dropped, with the id of the open question.
type Operation = fn(Harness, String) -> BoxFuture<'static, ()>;

/// An operation, when it comes, and a text that shows that it was carried out.
struct Case(&'static str, Situation, Operation, &'static str);

macro_rules! operation {
    (|$harness:ident, $id:ident| $call:expr) => {
        |$harness, $id| {
            async move {
                let _ = (&$id, $call.await);
            }
            .boxed()
        }
    };
}

const READ: ToolCategory = ToolCategory::Read;
const NOTE: ToolName = ToolName::from_static("note");

const CASES: &[Case] = &[
    Case("init", Idle, operation!(|h, id| h.init()), ""),
    Case("send_message", Idle, operation!(|h, id| h.send_message("sent")), "You said: sent"),
    Case("follow_up", Idle, operation!(|h, id| h.follow_up("sent")), "You said: sent"),
    Case("follow_up", Answering, operation!(|h, id| h.follow_up("sent")), "You said: sent"),
    Case("steer", Idle, operation!(|h, id| h.steer("sent")), "You said: sent"),
    Case("steer", Answering, operation!(|h, id| h.steer("sent")), "You said: sent"),
    Case("abort", Answering, operation!(|h, id| h.abort()), "partial\":true"),
    Case("resume", Queued, operation!(|h, id| h.resume()), "You said: one"),
    Case("retry", Failed, operation!(|h, id| h.retry()), "You said: broken"),
    Case("clear", Queued, operation!(|h, id| h.clear_follow_ups()), ""),
    Case(
        "approve",
        Asking("approval"),
        operation!(|h, id| h.respond_to_tool_approval(&id, ApprovalResponse::Approve)),
        "noted nothing",
    ),
    Case(
        "answer",
        Asking("question"),
        operation!(|h, id| h.respond_to_question(&id, "red")),
        "You chose red",
    ),
    Case(
        "plan",
        Asking("plan"),
        operation!(|h, id| h.respond_to_plan_approval(&id, PlanResponse::Approve)),
        "Carry it out",
    ),
    Case("mode", Idle, operation!(|h, id| h.switch_mode("other")), "\"mode\":\"other\""),
    Case("mode", Answering, operation!(|h, id| h.switch_mode("other")), "\"mode\":\"other\""),
    Case(
        "model",
        Answering,
        operation!(|h, id| h.switch_model("second", ModelScope::Mode)),
        "\"model\":\"second\"",
    ),
    Case(
        "subagent model",
        Idle,
        operation!(|h, id| h.set_subagent_model_id("helper", "second")),
        "\"helper\":\"second\"",
    ),
    Case("state", Idle, operation!(|h, id| h.set_state(json!({"yolo": true}))), "\"yolo\":true"),
    Case(
        "tasks",
        Answering,
        operation!(|h, id| h.set_state(
            json!({"tasks": [{"content": "Sew", "status": "pending", "activeForm": "Sewing"}]})
        )),
        "Sewing",
    ),
    Case("rules", Idle, operation!(|h, id| h.set_permission_rules(PermissionRules::default())), ""),
    Case(
        "tool rule",
        Idle,
        operation!(|h, id| h.set_tool_policy(NOTE, Some(PermissionPolicy::Deny))),
        "\"note\":\"deny\"",
    ),
    Case(
        "category rule",
        Idle,
        operation!(|h, id| h.set_category_policy(READ, Some(PermissionPolicy::Deny))),
        "\"read\":\"deny\"",
    ),
    Case("create", Idle, operation!(|h, id| h.create_thread(Some("made"))), "made"),
    Case("create", Answering, operation!(|h, id| h.create_thread(Some("made"))), "made"),
    Case("clone", Answering, operation!(|h, id| h.clone_thread(Some("made"))), "made"),
    Case("fork", Idle, operation!(|h, id| h.fork_thread(2, Some("made"))), "made"),
    Case("select", Idle, operation!(|h, id| h.select_or_create_thread()), ""),
    Case("rename", Answering, operation!(|h, id| h.rename_thread("made")), "made"),
    Case(
        "setting",
        Idle,
        operation!(|h, id| h.persist_thread_setting("colour", json!("blue"))),
        "\"colour\":\"blue\"",
    ),
    Case("heartbeat", Idle, operation!(|h, id| h.remove_heartbeat("pulse")), "\"pulse\":false"),
    Case("heartbeats", Idle, operation!(|h, id| h.stop_heartbeats()), "\"pulse\":false"),
    Case("close", Answering, operation!(|h, id| h.close()), "\"pulse\":false"),
];

fn build(store: &Store, resource: &str) -> Harness {
    let mode = |id: &str| HarnessMode::new(id, id, HarnessAgent::new(id, "You work."));
    Harness::<NoState>::builder("callers", store.clone())
        .resource_id(resource)
        .model(model(SCRIPT))
        .mode(mode("build").default_mode())
        .mode(mode("other"))
        .tool(Counter::new("note", ToolCategory::Edit))
        .subagent(HarnessSubagent::new("helper", "Helps", "You help."))
        .heartbeat(pulse())
        .build()
        .unwrap()
}

fn pulse() -> HeartbeatHandler {
    HeartbeatHandler::new("pulse", Duration::from_secs(3600), || async { Ok(()) })
}

/// Brings the harness into a situation. Returns the id of the open question.
async fn arrange(harness: &Harness, situation: Situation) -> String {
    let mut events = harness.subscribe();
    let begin = |text: &'static str| {
        let harness = harness.clone();
        tokio::spawn(async move { harness.send_message(text).await });
    };
    match situation {
        Idle => {}
        Failed => drop(harness.send_message("broken").await.unwrap()),
        Answering | Queued => {
            begin("slow");
            wait_for(&mut events, "message_update").await;
            harness.follow_up("one").await.unwrap();
            harness.follow_up("two").await.unwrap();
            if situation == Queued {
                harness.abort().await;
            }
        }
        Asking(text) => {
            begin(text);
            loop {
                if let Some(ask) = harness.open_asks().await.first() {
                    return ask.id.clone();
                }
                tokio::task::yield_now().await;
            }
        }
    }
    String::new()
}

/// Begins an operation and drops it after some polls. Other tasks run in between, as they
/// do when the caller is a task.
async fn begin_and_drop(mut operation: BoxFuture<'static, ()>, polls: usize) {
    for _ in 0..polls {
        if (&mut operation).now_or_never().is_some() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Everything that an operation can change.
async fn snapshot(harness: &Harness) -> Value {
    let mut messages = Vec::new();
    for thread in harness.list_threads().await.unwrap() {
        messages.extend(harness.messages(thread.id, 0, 100).await.unwrap());
    }
    let pulses = harness.register_heartbeat(&pulse()).is_err();
    json!({
        "messages": messages,
        "state": harness.state_json(),
        "mode": harness.current_mode_id().await,
        "model": harness.current_model_id(),
        "helper": harness.subagent_model_id("helper").await,
        "rules": harness.permission_rules(),
        "titles": harness.list_threads().await.unwrap().iter().map(|one| &one.title).collect::<Vec<_>>(),
        "settings": harness.current_thread().await.map(|thread| thread.metadata.settings),
        "pulse": pulses,
    })
}

async fn check(store: &Store, case: &Case, polls: usize) {
    let Case(name, situation, operation, expected) = *case;
    let label = format!("{name} {polls}");
    let harness = build(store, &label);
    harness.init().await.unwrap();
    let mut events = harness.subscribe();
    harness.send_message("first").await.unwrap();
    let first = harness.current_thread().await.unwrap().id;
    let id = arrange(&harness, situation).await;
    begin_and_drop(operation(harness.clone(), id), polls).await;
    harness.follow_up("last").await.unwrap();
    harness.wait_until_idle().await;
    check_turns(std::iter::from_fn(|| events.try_next()).map(|event| to_json(&event)), &label);
    let found = snapshot(&harness).await;
    assert!(found.to_string().contains(expected), "{label}: {expected} is missing in {found}");
    let thread = harness.current_thread().await.unwrap().id;
    let texts = |messages: Value| -> Vec<String> {
        let texts = messages.as_array().unwrap().iter();
        texts.filter_map(|one| one["content"][0]["text"].as_str()).map(str::to_owned).collect()
    };
    let current = texts(json!(harness.messages(thread, 0, 100).await.unwrap()));
    assert_eq!(current[current.len() - 2..], ["last", "You said: last"], "{label}: {current:?}");
    let original = texts(json!(harness.messages(first, 0, 100).await.unwrap()));
    assert_eq!(original[..2], ["first", "You said: first"], "{label}");
    let queued: Vec<&String> =
        current.iter().filter(|text| ["one", "two"].contains(&text.as_str())).collect();
    let keeps_queue = !["steer", "clear", "create", "clone", "close"].contains(&name);
    if keeps_queue && matches!(situation, Answering | Queued) {
        assert_eq!(queued, ["one", "two"], "{label}: {current:?}");
    }
}

/// Every operation is begun and dropped after one to three polls: it is carried out, readers
/// get all events, each turn ends once, the queue keeps its order, and the next message is
/// answered.
#[tokio::test]
async fn m30_m32_an_operation_whose_caller_goes_away_is_carried_out() {
    let store = memory().await;
    for case in CASES {
        for polls in 1..=POLLS {
            let checked = check(&store, case, polls);
            let finished = tokio::time::timeout(Duration::from_secs(20), checked).await;
            assert!(finished.is_ok(), "{} hangs after {polls} polls", case.0);
        }
    }
}

/// The same for the deletion of a thread, after which its messages are gone.
#[tokio::test]
async fn m24_a_thread_is_deleted_although_the_caller_goes_away() {
    let store = memory().await;
    for polls in 1..=POLLS {
        let harness = build(&store, &format!("delete {polls}"));
        harness.send_message("first").await.unwrap();
        let thread = harness.current_thread().await.unwrap().id;
        let deleting = harness.clone();
        let operation = async move { drop(deleting.delete_thread(thread).await) }.boxed();
        begin_and_drop(operation, polls).await;
        harness.send_message("last").await.unwrap();
        assert_eq!(harness.list_threads().await.unwrap().len(), 1);
        assert_ne!(harness.current_thread().await.unwrap().id, thread);
    }
}

/// A model that panics once, and then answers by a script.
struct PanicsOnce(AtomicBool, Arc<dyn Model>);

impl Model for PanicsOnce {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        assert!(self.0.swap(true, Ordering::SeqCst), "a fault of the test");
        self.1.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.1.price()
    }
}

/// M44: a model that panics ends its turn with an error. Nobody waits for ever, and the turn
/// can be resumed.
#[tokio::test]
async fn m44_a_panic_of_a_model_is_an_error_of_the_turn() {
    let panics = Arc::new(PanicsOnce(AtomicBool::new(false), model(SCRIPT)));
    let (harness, mut events) = ready(builder("default: ok").await.model(panics)).await;
    assert_eq!(harness.send_message("hello").await.unwrap().reason, EndReason::Error);
    assert_eq!(wait_for(&mut events, "error").await["retryable"], false);
    wait_for(&mut events, "agent_end").await;
    harness.select_or_create_thread().await.unwrap();
    wait_for(&mut events, "turn_interrupted").await;
    assert_eq!(harness.resume().await.unwrap().reason, EndReason::Complete);
    wait_for(&mut events, "agent_end").await;
}
