//! Observers: one that writes down nothing, one that writes down everything, and the one that
//! the user names, whose observations are compared with what was said.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures_util::stream::{self, BoxStream, StreamExt};
use ostler_domain::memory::MemorySettings;
use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::history::{Content, Item};
use ostler_engine::model::{Chunk, Model, ModelError, Request, StopReason, Usage};
use ostler_engine::turn::Models;
use ostler_harness::memory::MemoryEvent;
use ostler_testkit::{GeneratedQuestion, LongConversation, long_conversation};
use serde_json::{Value, json};

use super::{BATCH, FACTS, GrowingThread, percent};
use crate::report::Measurement;
use crate::{BenchError, BenchModel};

/// Tokens of messages at which the observer of the user is asked: small, so that it is asked
/// often.
const THRESHOLD: u64 = 4000;

/// Returns an observer that writes down nothing.
pub(super) fn silent() -> Arc<dyn Models> {
    Arc::new(OneModel(Arc::new(EchoModel { most: 0 })))
}

/// Returns an observer that writes down every message.
pub(super) fn everything() -> Arc<dyn Models> {
    Arc::new(OneModel(Arc::new(EchoModel { most: usize::MAX })))
}

struct OneModel(Arc<dyn Model>);

impl Models for OneModel {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(self.0.clone())
    }
}

/// Repeats the messages that it is shown as observations.
struct EchoModel {
    most: usize,
}

impl Model for EchoModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let text = request.history.last().map(shown_text).unwrap_or_default();
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let observations: Vec<Value> =
            messages.take(self.most).map(|message| observation(&message)).collect();
        let answer = json!({ "observations": observations }).to_string();
        let usage = Usage { input: 1000, output: 100, cached: 0, written: 0 };
        let chunks = [Chunk::Text(answer), Chunk::Usage(usage), Chunk::Done(StopReason::End)];
        stream::iter(chunks.map(Ok)).boxed()
    }

    fn price(&self) -> ModelPrice {
        ModelPrice::new(Usd::from_micros(0), Usd::from_micros(0))
    }
}

fn shown_text(item: &Item) -> String {
    match item {
        Item::User { content } => content.iter().map(Content::describe).collect(),
        Item::Assistant { .. } | Item::Results { .. } => String::new(),
    }
}

fn observation(message: &Value) -> Value {
    json!({
        "speaker": message["speaker"],
        "kind": "assertion",
        "text": message["text"],
        "first": message["seq"],
        "last": message["seq"],
    })
}

/// Measures how many of the facts of a conversation a model's observations contain, and how
/// many of its answers could not be used.
pub(super) async fn run(model: &BenchModel) -> Result<[Measurement; 2], BenchError> {
    let LongConversation { messages, questions } = long_conversation(FACTS);
    let settings = MemorySettings { observation_threshold: THRESHOLD, ..Default::default() };
    let failures = Arc::new(AtomicUsize::new(0));
    let counter = failures.clone();
    let on_event = move |event: MemoryEvent| {
        let is_failure = json!(event)["type"].as_str().is_some_and(|kind| kind.ends_with("failed"));
        counter.fetch_add(usize::from(is_failure), Ordering::Relaxed);
    };
    let models = Arc::new(OneModel(model.0.clone()));
    let mut thread = GrowingThread::open(models, settings, on_event).await?;
    let (mut each, start) = (Vec::new(), Instant::now());
    for batch in messages.chunks(BATCH) {
        let began = Instant::now();
        thread.add(batch).await?;
        each.push(began.elapsed());
    }
    let all = start.elapsed();
    let prompt = thread.memory.prompt();
    let head = prompt.head.unwrap_or_default();
    let observed: Vec<_> = questions.iter().filter(|one| one.seq < prompt.tail_start).collect();
    let found = observed.iter().filter(|question| is_observed(&head, question)).count();
    let measurement = |name: &str, value| {
        Measurement::new(name.to_owned(), each.clone(), all, None).with_value(value)
    };
    Ok([
        measurement("memory.observed_percent", percent(found, observed.len())),
        measurement("memory.observer_failures", failures.load(Ordering::Relaxed) as f64),
    ])
}

/// Returns whether one observation says what the question asks for.
fn is_observed(head: &str, question: &GeneratedQuestion) -> bool {
    head.lines().any(|line| question.expected.iter().all(|part| line.contains(part)))
}
