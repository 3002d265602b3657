//! A thread with its memory, as a harness would keep it, and models that observe.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::stream::{self, BoxStream, StreamExt};
use ostler_domain::id::{OrgId, ThreadId};
use ostler_domain::memory::{MemorySettings, MessageOrigin};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Trust;
use ostler_engine::history::{Content, Item};
use ostler_engine::model::{Chunk, Model, ModelError, ModelErrorKind, Request, StopReason, Usage};
use ostler_engine::turn::Models;
use ostler_harness::memory::{
    MemoryEvent, MemoryOptions, MemoryPrompt, ThreadMemory, memory_message,
};
use ostler_scripted::{Script, ScriptedModel};
use ostler_store::Store;
use ostler_testkit as testkit;
use serde_json::{Value, json};

pub(crate) const ORG: OrgId = OrgId::from_u128(1);
pub(crate) const THREAD: ThreadId = ThreadId::from_u128(7);
/// 2026-11-18.
const START: i64 = 1_794_960_000_000;

/// Small thresholds, for short conversations.
pub(crate) fn small() -> MemorySettings {
    MemorySettings { observation_threshold: 1000, reflection_threshold: 2000, ..Default::default() }
}

pub(crate) const fn unlimited() -> TurnBudget {
    let many = Credits::new(1_000_000);
    TurnBudget {
        reserved: many,
        top_up: Credits::ZERO,
        session: many,
        subagent: None,
        read_reserve: Credits::ZERO,
        team: None,
    }
}

type AnswerFunction = dyn Fn(&str) -> Option<String> + Send + Sync;

/// A model that answers by a function of the last message.
pub(crate) struct FunctionModel {
    answer: Box<AnswerFunction>,
    pub(crate) calls: AtomicU64,
    pub(crate) requests: Mutex<Vec<String>>,
}

impl FunctionModel {
    /// Creates a model. Where the function returns `None`, the model fails.
    pub(crate) fn new(
        answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (calls, requests) = (AtomicU64::new(0), Mutex::default());
        Arc::new(Self { answer: Box::new(answer), calls, requests })
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Model for FunctionModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let text = item_text(request.history.last().expect("a question"));
        self.calls.fetch_add(1, Ordering::SeqCst);
        let answer = (self.answer)(&text);
        self.requests.lock().unwrap().push(text);
        let Some(answer) = answer else {
            let (model, message) = ("observer".to_owned(), "no such luck".to_owned());
            let kind = ModelErrorKind::Status(500);
            return stream::iter([Err(ModelError { model, kind, message, retry_after: None })])
                .boxed();
        };
        let usage = Usage { input: 1000, output: 100, cached: 0, written: 0 };
        let chunks = [Chunk::Text(answer), Chunk::Usage(usage), Chunk::Done(StopReason::End)];
        stream::iter(chunks.map(Ok)).boxed()
    }

    fn price(&self) -> ModelPrice {
        ModelPrice::new(Usd::from_micros(1_000_000), Usd::from_micros(5_000_000))
    }
}

/// Returns an answer with one observation for each message that has `fact`.
pub(crate) fn observe_facts(request: &str) -> Option<String> {
    let messages = request.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let observations: Vec<Value> = messages
        .filter(|message| message["text"].as_str().is_some_and(|text| text.contains("fact")))
        .map(|message| {
            json!({
                "speaker": message["speaker"],
                "kind": "assertion",
                "text": message["text"],
                "first": message["seq"],
                "last": message["seq"],
            })
        })
        .collect();
    Some(json!({ "observations": observations }).to_string())
}

/// Returns a scripted model.
pub(crate) fn scripted(script: &str) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(Script::parse("test.yaml", script).expect("a script")))
}

/// An observer and a reflector.
pub(crate) struct TestModels {
    pub(crate) observer: Arc<dyn Model>,
    pub(crate) reflector: Arc<dyn Model>,
}

impl Models for TestModels {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        match name {
            None | Some("observer") => Some(self.observer.clone()),
            Some("reflector") => Some(self.reflector.clone()),
            Some(_) => None,
        }
    }
}

/// A thread as a harness keeps it.
pub(crate) struct TestThread {
    pub(crate) store: Store,
    pub(crate) memory: ThreadMemory,
    pub(crate) items: Vec<Item>,
    pub(crate) events: Arc<Mutex<Vec<MemoryEvent>>>,
    pub(crate) clock: Arc<AtomicI64>,
    options: MemoryOptions,
}

impl TestThread {
    /// Opens a thread whose observer is also its reflector.
    pub(crate) async fn open(
        store: &Store,
        settings: MemorySettings,
        model: Arc<dyn Model>,
    ) -> Self {
        Self::open_with(store, settings, model.clone(), model).await
    }

    pub(crate) async fn open_with(
        store: &Store,
        settings: MemorySettings,
        observer: Arc<dyn Model>,
        reflector: Arc<dyn Model>,
    ) -> Self {
        // The org is there already after a restart.
        let _ = store.create_org(testkit::org(ORG, "acme")).await;
        let events = Arc::<Mutex<Vec<MemoryEvent>>>::default();
        let clock = Arc::new(AtomicI64::new(START));
        let (sink, time) = (events.clone(), clock.clone());
        let settings = MemorySettings { reflector_model: Some("reflector".into()), ..settings };
        let options = MemoryOptions {
            store: store.clone(),
            org: ORG,
            thread: THREAD,
            models: Arc::new(TestModels { observer, reflector }),
            settings,
            budget: unlimited(),
            events: Arc::new(move |event| sink.lock().unwrap().push(event)),
            now: Arc::new(move || Timestamp::from_millis(time.load(Ordering::SeqCst))),
        };
        let memory = ThreadMemory::load(options.clone()).await.expect("a memory");
        Self { store: store.clone(), memory, items: Vec::new(), events, clock, options }
    }

    /// Continues in another process: nothing of the memory in this one is used again.
    pub(crate) async fn restart(&mut self) {
        let new = ThreadMemory::load(self.options.clone()).await.expect("a memory");
        std::mem::forget(std::mem::replace(&mut self.memory, new));
    }

    /// Stores a message and reports it to the memory.
    pub(crate) async fn add(&mut self, item: Item, origin: MessageOrigin, trust: Trust) {
        self.items.push(item);
        let seq = self.items.len() as i64;
        let message = memory_message(seq, self.items.last().unwrap(), origin, trust);
        self.store.org(ORG).append_memory_messages(THREAD, vec![message.clone()]).await.unwrap();
        self.memory.on_message(&message);
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.add(Item::user(text), MessageOrigin::Conversation, Trust::Trusted).await;
    }

    /// Runs a turn: returns the prompt that the agent's model would get.
    pub(crate) async fn turn(&mut self, text: &str) -> Vec<Item> {
        self.memory.activate_if_ready();
        self.say(text).await;
        let prompt = self.prompt_items();
        let answer = Item::assistant("I see.");
        self.add(answer, MessageOrigin::Conversation, Trust::Trusted).await;
        prompt
    }

    pub(crate) fn prompt(&self) -> MemoryPrompt {
        self.memory.prompt()
    }

    pub(crate) fn prompt_items(&self) -> Vec<Item> {
        self.prompt().items((1..).zip(&self.items))
    }

    /// Waits for the background, and lets time pass.
    pub(crate) async fn settle(&self, seconds: i64) {
        self.memory.idle().await;
        self.clock.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// Returns the names of the events so far, without `om_status`.
    pub(crate) fn event_names(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let names = events.iter().map(|event| json!(event)["type"].as_str().unwrap().to_owned());
        names.filter(|name| name != "om_status").collect()
    }

    /// Returns the sequence numbers that the recall tool finds.
    pub(crate) async fn recall(&self, query: &str) -> Vec<i64> {
        let before = self.prompt().tail_start;
        let org = self.store.org(ORG);
        let hits = org.recall_messages(THREAD, before, query, 5).await.unwrap();
        hits.into_iter().map(|hit| hit.message.seq).collect()
    }
}

pub(crate) fn item_text(item: &Item) -> String {
    match item {
        Item::User { content } => content.iter().map(Content::describe).collect(),
        Item::Assistant { text, .. } => text.clone(),
        Item::Results { results } => {
            results.iter().map(|result| result.outcome.content.clone()).collect()
        }
    }
}

/// A message of about this many tokens.
pub(crate) fn text(words: &str, tokens: usize) -> String {
    let padding = "lorem ipsum ".repeat(tokens * 4 / 12);
    format!("{words} {padding}")
}
