//! Harnesses with a scripted model, tools that count their calls, and readers of events.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::tool::{ToolCategory, ToolGroup, ToolName, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_harness::{
    Harness, HarnessAgent, HarnessBuilder, HarnessError, HarnessEvent, HarnessMode, NoState, Store,
    Subscription, open_storage,
};
use ostler_scripted::{Script, ScriptedModel};
use serde_json::{Value, json};

/// A tool that answers with a text and counts its calls.
pub(crate) struct Counter {
    definition: ToolDefinition,
    pub(crate) calls: AtomicUsize,
}

impl Counter {
    pub(crate) fn new(name: &'static str, category: ToolCategory) -> Arc<Self> {
        let name = ToolName::from_static(name);
        let spec = match category {
            ToolCategory::Read => ToolSpec::read(name, ToolGroup::Custom),
            _ => ToolSpec::write(name, ToolGroup::Custom),
        };
        Self::of(ToolSpec { category, ..spec })
    }

    pub(crate) fn of(spec: ToolSpec) -> Arc<Self> {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}},
            "additionalProperties": false});
        let definition = ToolDefinition::new(spec, "A tool of the test.", schema);
        Arc::new(Self { definition, calls: AtomicUsize::new(0) })
    }

    pub(crate) fn count(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Tool for Counter {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let said = call.call().arguments["text"].as_str().unwrap_or("nothing").to_owned();
        std::future::ready(ToolReply::Done(ToolOutcome::ok(format!("noted {said}")))).boxed()
    }
}

pub(crate) fn model(script: &str) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(Script::parse("script.yaml", script).expect("a valid script")))
}

pub(crate) async fn memory() -> Store {
    open_storage("sqlite::memory:").await.expect("a database in memory")
}

/// A builder with one mode and a script.
pub(crate) async fn builder(script: &str) -> HarnessBuilder<NoState> {
    builder_on(memory().await, script)
}

pub(crate) fn builder_on(store: Store, script: &str) -> HarnessBuilder<NoState> {
    Harness::builder("test", store).model(model(script)).mode(HarnessMode::new(
        "build",
        "Build",
        HarnessAgent::new("builder", "You build."),
    ))
}

/// A harness that is ready.
pub(crate) async fn ready(builder: HarnessBuilder<NoState>) -> (Harness, Subscription) {
    let harness = builder.build().expect("a valid configuration");
    let events = harness.subscribe();
    harness.init().await.expect("initialized");
    (harness, events)
}

pub(crate) fn kind(event: &HarnessEvent) -> String {
    to_json(event)["type"].as_str().expect("a type").to_owned()
}

pub(crate) fn to_json(event: &HarnessEvent) -> Value {
    serde_json::to_value(event).expect("serializable")
}

/// The names of the events that have arrived.
pub(crate) fn names(events: &mut Subscription) -> Vec<String> {
    std::iter::from_fn(|| events.try_next()).map(|event| kind(&event)).collect()
}

/// The events that have arrived, without `ext`.
pub(crate) fn bare(events: &mut Subscription) -> Vec<Value> {
    let bare = |event: Arc<HarnessEvent>| {
        let mut json = to_json(&event);
        json.as_object_mut().expect("an object").remove("ext");
        json
    };
    std::iter::from_fn(|| events.try_next()).map(bare).collect()
}

/// Waits for an event of a kind.
pub(crate) async fn wait_for(events: &mut Subscription, name: &str) -> Value {
    let wait = async {
        loop {
            let event = events.next().await;
            if kind(&event) == name {
                return to_json(&event);
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), wait).await;
    found.unwrap_or_else(|_| panic!("no {name} came"))
}

/// Every turn begins once and ends once, and no two overlap.
pub(crate) fn check_turns(events: impl IntoIterator<Item = Value>, case: &str) {
    let mut running: Option<String> = None;
    let mut ended = BTreeSet::new();
    for event in events {
        let turn = event["ext"]["turnId"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            Some("agent_start") => {
                assert_eq!(running, None, "{case}");
                running = Some(turn);
            }
            Some("agent_end") => {
                assert_eq!(running.take(), Some(turn.clone()), "{case}");
                assert!(ended.insert(turn), "{case}");
            }
            _ => {}
        }
    }
    assert_eq!(running, None, "{case}");
}

/// Opens the thread that was used last as soon as the lease of a process that was killed is
/// over.
pub(crate) async fn take_over(harness: &Harness) {
    for _ in 0..500 {
        match harness.select_or_create_thread().await {
            Ok(_) => return,
            Err(HarnessError::ThreadInUse { .. }) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("the lease did not end");
}
