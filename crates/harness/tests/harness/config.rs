//! Init, heartbeats and the request context.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::money::Credits;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_harness::{Budget, ConfigError, EndReason, HarnessRequestContext, HeartbeatHandler};
use serde_json::json;

use crate::support::{builder, ready};

fn counting(id: &str, beats: &Arc<AtomicUsize>, shutdowns: &Arc<AtomicUsize>) -> HeartbeatHandler {
    let (beats, shutdowns) = (beats.clone(), shutdowns.clone());
    HeartbeatHandler::new(id, Duration::from_secs(30), move || {
        let count = beats.fetch_add(1, Ordering::SeqCst);
        async move { if count == 1 { Err("failed".into()) } else { Ok(()) } }
    })
    .on_shutdown(move || {
        shutdowns.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    })
}

/// M38, M45: heartbeats start after init, keep their interval, survive a failure, and are
/// shut down once.
#[tokio::test(start_paused = true)]
async fn m38_m45_heartbeats() {
    let (beats, shutdowns) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let builder = builder("default: ok").await.heartbeat(counting("one", &beats, &shutdowns));
    let harness = builder.build().unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(beats.load(Ordering::SeqCst), 0, "not before init");
    harness.init().await.unwrap();
    harness.init().await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(beats.load(Ordering::SeqCst), 1, "at once");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(beats.load(Ordering::SeqCst), 3, "goes on after a failure");
    assert!(harness.register_heartbeat(&counting("one", &beats, &shutdowns)).is_err());
    let later = counting("two", &beats, &shutdowns).after_interval();
    harness.register_heartbeat(&later).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(beats.load(Ordering::SeqCst), 3, "the second one waits");
    assert!(harness.remove_heartbeat("one").await);
    assert!(!harness.remove_heartbeat("one").await);
    assert_eq!(shutdowns.load(Ordering::SeqCst), 1);
    harness.stop_heartbeats().await;
    harness.stop_heartbeats().await;
    assert_eq!(shutdowns.load(Ordering::SeqCst), 2);
    let stopped = beats.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(beats.load(Ordering::SeqCst), stopped);
    harness.start_heartbeats();
    harness.start_heartbeats();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(beats.load(Ordering::SeqCst), stopped + 1, "the one of the configuration");
}

/// M46: what cannot work is refused when the harness is built.
#[tokio::test]
async fn m46_a_bad_configuration_is_refused() {
    let (beats, shutdowns) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let twice = builder("default: ok")
        .await
        .heartbeat(counting("one", &beats, &shutdowns))
        .heartbeat(counting("one", &beats, &shutdowns));
    assert!(matches!(twice.build(), Err(ConfigError::DuplicateHeartbeat(_))));
    let bad = builder("default: ok").await.initial_state(json!({"yolo": "x"}));
    assert!(matches!(bad.build(), Err(ConfigError::InvalidState(_))));
}

/// M46: a thread stops at its budget.
#[tokio::test]
async fn m46_a_thread_has_a_budget() {
    let script = "price: { input: 10000, output: 10000 }\ndefault: Hello!";
    let (harness, _) = ready(builder(script).await.budget(Budget::Thread(Credits::new(1)))).await;
    let outcome = harness.send_message("Hi").await.unwrap();
    assert_eq!(outcome.reason, EndReason::Error);
}

struct WhoAmI(ToolDefinition);

impl Tool for WhoAmI {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Authorized, context: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        let request = context.extensions.get::<HarnessRequestContext>();
        let said = request.map_or_else(String::new, |request| {
            format!("{} {}", request.thread_id, request.state()["colour"])
        });
        std::future::ready(ToolReply::Done(ToolOutcome::ok(said))).boxed()
    }
}

/// M50: a tool finds its harness in its context.
#[tokio::test]
async fn m50_a_tool_finds_its_harness() {
    let spec = ToolSpec::control(ToolName::from_static("who"), ToolGroup::Custom);
    let schema = json!({"type": "object"});
    let who = Arc::new(WhoAmI(ToolDefinition::new(spec, "Who?", schema)));
    let script =
        "rules:\n  - when: { user: go }\n    answer:\n      - call: who\n      - \"{{ result }}\"";
    let builder = builder(script).await.tool(who).initial_state(json!({"colour": "red"}));
    let (harness, _) = ready(builder).await;
    let outcome = harness.send_message("go").await.unwrap();
    let thread = harness.current_thread().await.unwrap().id;
    assert_eq!(json!(outcome.end)["text"], json!(format!("{thread} \"red\"")));
}
