//! The memory suite: what a search of a long thread finds, how long its prompt becomes, and
//! which losses the check of reflections notices, on a generated conversation.
//!
//! How good observations are depends on the model that makes them, so it is measured only
//! with a model that the user names.

mod guard;
mod observer;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use ostler_domain::id::{OrgId, ThreadId};
use ostler_domain::memory::{MemorySettings, MessageOrigin};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Trust;
use ostler_engine::history::Item;
use ostler_engine::tokens;
use ostler_engine::turn::Models;
use ostler_harness::memory::{MemoryEvent, MemoryOptions, ThreadMemory, memory_message};
use ostler_harness::{Store, open_storage};
use ostler_testkit::{LongConversation, long_conversation};

use crate::report::Measurement;
use crate::{BenchError, Options};

const ORG: OrgId = OrgId::from_u128(0);
const THREAD: ThreadId = ThreadId::from_u128(1);
/// 2026-11-18.
const START: i64 = 1_794_960_000_000;
/// The time between two messages.
const PACE_MS: i64 = 60_000;
const FACTS: usize = 100;
/// Messages stored together, because this is no measurement of the database.
const BATCH: usize = 20;
/// Messages of the thread whose prompt is measured.
const LONG_THREAD: usize = 2000;
/// How many results of a search are looked at.
const RESULTS: [usize; 3] = [1, 5, 10];

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let mut results = Vec::new();
    progress("memory.recall_percent");
    results.extend(recall(options.time / 3).await?);
    progress("memory.prompt_tokens.2000");
    results.push(prompt_tokens().await?);
    progress("memory.guard");
    results.extend(guard::run());
    if let Some(model) = &options.model {
        progress("memory.observed_percent");
        results.extend(observer::run(model).await?);
    }
    Ok(results)
}

/// A thread that grows message by message.
struct GrowingThread {
    store: Store,
    memory: ThreadMemory,
    items: Vec<Item>,
    clock: Arc<AtomicI64>,
}

impl GrowingThread {
    async fn open(
        models: Arc<dyn Models>,
        settings: MemorySettings,
        on_event: impl Fn(MemoryEvent) + Send + Sync + 'static,
    ) -> Result<Self, BenchError> {
        let store = open_storage("sqlite::memory:").await?;
        let clock = Arc::new(AtomicI64::new(START));
        let time = clock.clone();
        let many = Credits::new(1_000_000);
        let budget = TurnBudget {
            reserved: many,
            top_up: Credits::ZERO,
            session: many,
            subagent: None,
            read_reserve: Credits::ZERO,
            team: None,
        };
        let options = MemoryOptions {
            store: store.clone(),
            org: ORG,
            thread: THREAD,
            models,
            settings,
            budget,
            events: Arc::new(on_event),
            now: Arc::new(move || Timestamp::from_millis(time.load(Ordering::Relaxed))),
        };
        let memory = ThreadMemory::load(options).await?;
        Ok(Self { store, memory, items: Vec::new(), clock })
    }

    /// Stores messages and reports them to the memory, and waits for the background.
    async fn add(&mut self, texts: &[String]) -> Result<(), BenchError> {
        let mut stored = Vec::with_capacity(texts.len());
        for text in texts {
            let item = Item::user(text.as_str());
            let seq = self.items.len() as i64 + 1;
            let message = memory_message(seq, &item, MessageOrigin::Conversation, Trust::Trusted);
            self.items.push(item);
            stored.push(message);
            self.clock.fetch_add(PACE_MS, Ordering::Relaxed);
        }
        self.store.org(ORG).append_memory_messages(THREAD, stored.clone()).await?;
        self.memory.activate_if_ready();
        stored.iter().for_each(|message| self.memory.on_message(message));
        self.memory.idle().await;
        Ok(())
    }

    /// Returns what the prompt of a turn consists of.
    fn prompt(&self) -> Vec<Item> {
        self.memory.prompt().items((1..).zip(&self.items))
    }
}

/// Measures how often the message with the answer is among the first results.
async fn recall(time: Duration) -> Result<Vec<Measurement>, BenchError> {
    let LongConversation { messages, questions } = long_conversation(FACTS);
    // Only the last messages are in the prompt, so that the others are searched.
    let settings = MemorySettings { observation_threshold: 1000, ..MemorySettings::default() };
    let mut thread = GrowingThread::open(observer::silent(), settings, |_| {}).await?;
    for batch in messages.chunks(BATCH) {
        thread.add(batch).await?;
    }
    let before = thread.memory.prompt().tail_start;
    let searched: Vec<_> = questions.iter().filter(|question| question.seq < before).collect();
    let (mut ranks, mut each, start) = (Vec::new(), Vec::new(), Instant::now());
    while each.is_empty() || start.elapsed() < time {
        ranks.clear();
        for question in &searched {
            let began = Instant::now();
            let limit = RESULTS[RESULTS.len() - 1] as u32;
            let org = thread.store.org(ORG);
            let found = org.recall_messages(THREAD, before, &question.text, limit).await?;
            each.push(began.elapsed());
            ranks.push(found.iter().position(|hit| hit.message.seq == question.seq));
        }
    }
    let all = start.elapsed();
    let measurement = |most: usize| {
        let found = ranks.iter().flatten().filter(|rank| **rank < most).count();
        let name = format!("memory.recall_percent.{most}");
        Measurement::new(name, each.clone(), all, None).with_value(percent(found, ranks.len()))
    };
    Ok(RESULTS.map(measurement).into())
}

/// Measures the longest prompt of a thread, with an observer that writes down everything.
async fn prompt_tokens() -> Result<Measurement, BenchError> {
    let conversation = long_conversation(FACTS).messages;
    let messages: Vec<String> = conversation.into_iter().cycle().take(LONG_THREAD).collect();
    let models = observer::everything();
    let mut thread = GrowingThread::open(models, MemorySettings::default(), |_| {}).await?;
    let (mut longest, mut each, start) = (0, Vec::new(), Instant::now());
    for batch in messages.chunks(BATCH) {
        thread.add(batch).await?;
        let began = Instant::now();
        let prompt = thread.prompt();
        each.push(began.elapsed());
        longest = longest.max(prompt.iter().map(tokens::of_item).sum::<u64>());
    }
    let name = format!("memory.prompt_tokens.{LONG_THREAD}");
    Ok(Measurement::new(name, each, start.elapsed(), None).with_value(longest as f64))
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}
