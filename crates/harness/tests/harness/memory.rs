//! Harnesses with an observational memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::BoxStream;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::history::{Content, Item};
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_engine::tokens;
use ostler_engine::turn::Models;
use ostler_harness::{
    ConfigError, EndReason, Harness, HarnessAgent, HarnessBuilder, HarnessError, HarnessMode,
    HarnessOMConfig, MemorySettings, NoState, Store, Subscription,
};
use serde_json::{Value, json};

use crate::support::{memory, model, to_json};

const OBSERVER: &str = r#"
rules:
  - when: { user: { regex: '"seq":(?<seq>\d+),"speaker":"user","text":"My name is (?<name>\w+)' } }
    answer: '{"observations":[{"speaker":"user","kind":"assertion","text":"Is called {{ name }}","first":{{ seq }},"last":{{ seq }}}]}'
default: '{"observations":[]}'
"#;
const THRESHOLD: u64 = 1000;

/// Answers and remembers the prompts.
struct Recording {
    answers: Arc<dyn Model>,
    prompts: Arc<Mutex<Vec<(u64, String)>>>,
}

impl Model for Recording {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let size = request.history.iter().map(tokens::of_item).sum();
        let first = match request.history.first() {
            Some(Item::User { content }) => content.iter().map(Content::describe).collect(),
            _ => String::new(),
        };
        self.prompts.lock().unwrap().push((size, first));
        self.answers.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.answers.price()
    }
}

#[derive(Clone)]
struct Two {
    agent: Arc<dyn Model>,
    observer: Arc<dyn Model>,
}

impl Models for Two {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(if name == Some("observer") { self.observer.clone() } else { self.agent.clone() })
    }
}

type Prompts = Arc<Mutex<Vec<(u64, String)>>>;

fn remembering(store: &Store, observer: &str) -> (HarnessBuilder<NoState>, Prompts) {
    let prompts = Prompts::default();
    let script = "rules:\n  - when: { user: find }\n    answer:\n      - call: recall\n        with: { query: Ottilie }\n      - \"{{ result }}\"\ndefault: Fine.";
    let agent = Arc::new(Recording { answers: model(script), prompts: prompts.clone() });
    let models = Two { agent, observer: model(observer) };
    let memory = HarnessOMConfig {
        default_observer_model_id: Some("observer".into()),
        default_reflector_model_id: Some("observer".into()),
        default_observation_threshold: THRESHOLD,
        ..HarnessOMConfig::default()
    };
    let mode = HarnessMode::new("build", "Build", HarnessAgent::new("builder", "You build."));
    let builder = Harness::builder("memory", store.clone()).models(Arc::new(models));
    (builder.mode(mode).memory(memory).initial_state(json!({"yolo": true})), prompts)
}

async fn talk(harness: &Harness, turns: usize) {
    for turn in 0..turns {
        let text = format!("Message {turn}. {}", "Bla bla. ".repeat(20));
        let outcome = harness.send_message(text).await.unwrap();
        assert_eq!(outcome.reason, EndReason::Complete);
        // The background has time, as it has between the messages of a person.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The events so far, also those that are read from the store.
async fn all(events: &mut Subscription) -> Vec<Value> {
    let mut found = Vec::new();
    let wait = Duration::from_millis(300);
    while let Ok(event) = tokio::time::timeout(wait, events.next()).await {
        found.push(to_json(&event));
    }
    found
}

/// M15, M17, M18: observations take the place of old messages, the prompt stays bounded, no
/// turn waits for the observer, and every start has an end.
#[tokio::test]
async fn m15_m17_m18_a_long_thread_stays_within_its_window() {
    let store = memory().await;
    let (builder, prompts) = remembering(&store, OBSERVER);
    let harness = builder.build().unwrap();
    harness.init().await.unwrap();
    harness.send_message("My name is Ottilie.").await.unwrap();
    let mut events = harness.subscribe();
    talk(&harness, 60).await;
    let recorded = prompts.lock().unwrap().clone();
    let largest = recorded.iter().map(|(size, _)| *size).max().unwrap();
    assert!(largest < 2 * THRESHOLD, "{largest}");
    let (_, head) = recorded.last().unwrap();
    assert!(head.contains("Is called Ottilie"), "{head}");
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    let mut activated = false;
    for event in all(&mut events).await {
        let kind = event["type"].as_str().unwrap().to_owned();
        if let Some(name) = kind.strip_suffix("_start").filter(|name| name.starts_with("om_")) {
            *counts.entry(name.to_owned()).or_default() += 1;
        } else if let Some((name, "end" | "failed")) = kind.rsplit_once('_')
            && name.starts_with("om_")
        {
            *counts.entry(name.to_owned()).or_default() -= 1;
        }
        activated |= kind == "om_activation";
        assert!(counts.values().all(|open| (0..=1).contains(open)), "{kind}: {counts:?}");
    }
    assert!(activated);
    // Nothing is deleted: what left the prompt is found by its words.
    let found = harness.send_message("find").await.unwrap();
    let said = serde_json::to_value(&found.end).unwrap()["text"].as_str().unwrap().to_owned();
    assert!(said.contains("My name is Ottilie"), "{said}");
}

/// M15, M19, M49: a thread has thresholds and models of its own, which its next process finds,
/// and its progress is read from the store.
#[tokio::test]
async fn m15_m19_m49_a_thread_has_memory_settings_of_its_own() {
    let store = memory().await;
    let (builder, _) = remembering(&store, OBSERVER);
    let harness = builder.build().unwrap();
    let none = harness.memory_settings().await;
    assert!(matches!(none, Err(HarnessError::NoThread)), "{none:?}");
    harness.create_thread(None).await.unwrap();
    assert_eq!(harness.memory_settings().await.unwrap().observation_threshold, THRESHOLD);
    assert_eq!(harness.load_om_progress().await.unwrap(), None);
    let own = MemorySettings {
        observation_threshold: 2 * THRESHOLD,
        observer_model: Some("observer".into()),
        ..MemorySettings::default()
    };
    let bad = MemorySettings { reflection_threshold: 1, ..own.clone() };
    let refused = harness.set_memory_settings(bad).await;
    assert!(matches!(refused, Err(HarnessError::MemorySettings(_))), "{refused:?}");
    harness.set_memory_settings(own.clone()).await.unwrap();
    talk(&harness, 40).await;
    harness.close().await.unwrap();

    let (builder, _) = remembering(&store, OBSERVER);
    let later = builder.build().unwrap();
    let thread = later.select_or_create_thread().await.unwrap();
    assert_eq!(later.memory_settings().await.unwrap(), own);
    let progress = later.load_om_progress().await.unwrap().expect("a status was stored");
    assert_eq!(progress.thread_id, thread.id);
    let now = later.memory_status().await.unwrap();
    assert_eq!(
        (now.record_id, now.generation_count),
        (progress.record_id, progress.generation_count)
    );
    later.create_thread(None).await.unwrap();
    assert_eq!(later.memory_settings().await.unwrap().observation_threshold, THRESHOLD);
}

/// M19: another process continues with the same memory.
#[tokio::test]
async fn m19_the_memory_survives_its_process() {
    let store = memory().await;
    let (builder, _) = remembering(&store, OBSERVER);
    let harness = builder.build().unwrap();
    harness.send_message("My name is Ottilie.").await.unwrap();
    talk(&harness, 40).await;
    harness.close().await.unwrap();
    let (builder, prompts) = remembering(&store, OBSERVER);
    let later = builder.build().unwrap();
    later.select_or_create_thread().await.unwrap();
    later.send_message("hello").await.unwrap();
    let (size, head) = prompts.lock().unwrap()[0].clone();
    assert!(size < 2 * THRESHOLD && head.contains("Is called Ottilie"), "{size} {head}");
}

/// M24: a clone of a thread has its memory; nothing is observed again for it.
#[tokio::test]
async fn m24_a_cloned_thread_has_the_memory_of_the_original() {
    let store = memory().await;
    let (builder, _) = remembering(&store, OBSERVER);
    let harness = builder.build().unwrap();
    harness.send_message("My name is Ottilie.").await.unwrap();
    talk(&harness, 40).await;
    let original = harness.current_thread().await.unwrap().id;
    harness.close().await.unwrap();
    // From here on no observer answers.
    let (builder, prompts) = remembering(&store, "default: { fail: 500 }");
    let later = builder.build().unwrap();
    later.select_or_create_thread().await.unwrap();
    let clone = later.clone_thread(Some("Copy")).await.unwrap();
    assert_ne!(clone.id, original);
    later.delete_thread(original).await.unwrap();
    later.send_message("hello").await.unwrap();
    let (size, head) = prompts.lock().unwrap()[0].clone();
    assert!(size < 2 * THRESHOLD && head.contains("Is called Ottilie"), "{size} {head}");
    let found = json!(later.send_message("find").await.unwrap().end)["text"].to_string();
    assert!(found.contains("My name is Ottilie"), "{found}");
}

/// M04: an agent with a memory of its own keeps it, one without has that of the harness,
/// which is far from full here, or none.
#[tokio::test]
async fn m04_an_agent_with_its_own_memory_keeps_it() {
    let large = HarnessOMConfig {
        default_observer_model_id: Some("observer".into()),
        default_reflector_model_id: Some("observer".into()),
        ..HarnessOMConfig::default()
    };
    for of_harness in [Some(large.clone()), None] {
        let prompts = Prompts::default();
        let agent =
            Arc::new(Recording { answers: model("default: Fine."), prompts: prompts.clone() });
        let models = Two { agent, observer: model(OBSERVER) };
        let small = HarnessOMConfig { default_observation_threshold: THRESHOLD, ..large.clone() };
        let own = HarnessAgent::new("planner", "You plan.").memory(small);
        let without = HarnessAgent::new("builder", "You build.");
        let mut builder = Harness::<NoState>::builder("memory", memory().await)
            .models(Arc::new(models))
            .mode(HarnessMode::new("build", "Build", without).default_mode())
            .mode(HarnessMode::new("plan", "Plan", own));
        if let Some(of_harness) = of_harness {
            builder = builder.memory(of_harness);
        }
        let harness = builder.build().unwrap();
        let size = || prompts.lock().unwrap().last().unwrap().0;
        talk(&harness, 40).await;
        assert!(size() > 2 * THRESHOLD, "{}", size());
        harness.switch_mode("plan").await.unwrap();
        talk(&harness, 40).await;
        assert!(size() < 2 * THRESHOLD, "{}", size());
    }
}

/// M20, Z11: an observer that fails costs no turn; the prompt stays bounded all the same.
#[tokio::test]
async fn m20_z11_a_failing_observer_costs_no_turn() {
    let store = memory().await;
    let (builder, prompts) = remembering(&store, "default: { fail: 500 }");
    let harness = builder.build().unwrap();
    let mut events = harness.subscribe();
    talk(&harness, 60).await;
    let events = all(&mut events).await;
    assert!(events.iter().any(|event| event["type"] == "om_buffering_failed"));
    // Messages that leave the prompt unobserved are reported too.
    let compacted = events.iter().rfind(|event| event["type"] == "context_compacted");
    assert!(compacted.is_some_and(|event| event["firstMessage"].as_i64() > Some(60)));
    let largest = prompts.lock().unwrap().iter().map(|(size, _)| *size).max().unwrap();
    assert!(largest < 2 * THRESHOLD, "{largest}");
    let thread = harness.current_thread().await.unwrap();
    assert_eq!(thread.message_count, 120);
}

/// M46: a threshold that no window can have is refused.
#[tokio::test]
async fn m46_thresholds_are_checked() {
    let store = memory().await;
    let (builder, _) = remembering(&store, OBSERVER);
    let memory = HarnessOMConfig { default_observation_threshold: 1, ..HarnessOMConfig::default() };
    assert!(matches!(builder.memory(memory).build(), Err(ConfigError::Memory(_))));
}
