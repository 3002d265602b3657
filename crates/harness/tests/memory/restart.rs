//! The memory of a thread in another process.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::stream::{self, BoxStream, StreamExt};
use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_harness::memory::MemoryEvent;
use ostler_store::Store;
use ostler_testkit::TestDatabase;
use serde_json::{Value, json};

use crate::support::{FunctionModel, ORG, THREAD, TestThread, observe_facts, small, text};

/// M19: windows, counts, generation, prompt and uncharged calls are the same after a
/// restart at any message.
#[tokio::test(flavor = "multi_thread")]
async fn m19_a_restart_changes_nothing() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let mut thread = TestThread::open(&store, small(), FunctionModel::new(observe_facts)).await;
        for number in 0..24 {
            thread.turn(&text(&format!("fact {number}"), 90)).await;
            thread.settle(1).await;
            let (status, prompt) = (thread.memory.status(0), thread.prompt());
            thread.restart().await;
            assert_eq!((thread.memory.status(0), thread.prompt()), (status, prompt), "{number}");
            assert_eq!(thread.memory.last_message(), thread.items.len() as i64);
        }
        assert!(thread.prompt().head.is_some());
        let calls = thread.memory.take_calls();
        assert!(calls.len() >= 3, "{calls:?}");
        let last = calls.last().unwrap().task;
        store.org(ORG).mark_memory_calls_charged(THREAD, last).await.unwrap();
        thread.restart().await;
        assert!(thread.memory.take_calls().is_empty(), "charged once");
    }
}

/// M17, M19: a process that ends between buffering and activation loses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn m17_m19_buffered_observations_survive_the_end_of_the_process() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let observer = FunctionModel::new(observe_facts);
        let mut thread = TestThread::open(&store, small(), observer.clone()).await;
        for number in 0..8 {
            thread.turn(&text(&format!("fact {number}"), 90)).await;
            thread.settle(1).await;
        }
        // Another store on the same database, as in another process.
        thread.restart().await;
        let calls = observer.calls();
        let other = Store::open(&database.url).await.unwrap();
        let mut second = TestThread::open(&other, small(), observer.clone()).await;
        second.items.clone_from(&thread.items);
        let buffered = second.memory.status(0).windows.buffered.observations;
        assert!(buffered.chunks > 0, "{buffered:?}");
        while !second.memory.activate_if_ready() {
            second.say(&text("chatter", 90)).await;
        }
        let head = second.prompt().head.unwrap();
        assert!(head.contains("fact 0") && head.contains("fact 1"), "{head}");
        assert!(observer.calls() <= calls + 1, "nothing is observed twice");
        second.settle(1).await;
    }
}

/// A process that has lost the thread stops writing its memory.
#[tokio::test(flavor = "multi_thread")]
async fn m19_a_second_process_takes_over() {
    let database = TestDatabase::sqlite_file();
    let store = database.migrated().await;
    let observer = FunctionModel::new(observe_facts);
    let mut first = TestThread::open(&store, small(), observer.clone()).await;
    for number in 0..3 {
        first.turn(&text(&format!("fact {number}"), 90)).await;
    }
    let mut second = TestThread::open(&store, small(), observer.clone()).await;
    second.items.clone_from(&first.items);
    for number in 3..12 {
        second.turn(&text(&format!("fact {number}"), 90)).await;
        second.settle(1).await;
    }
    let before = store.org(ORG).observations(THREAD).await.unwrap();
    for number in 3..12 {
        first.turn(&text(&format!("fact {number}"), 90)).await;
        first.settle(1).await;
    }
    assert_eq!(store.org(ORG).observations(THREAD).await.unwrap(), before);
}

/// A model that does not answer the first time it is asked.
struct StuckModel {
    is_asked: AtomicBool,
    answers: Arc<FunctionModel>,
}

impl Model for StuckModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        if self.is_asked.swap(true, Ordering::SeqCst) {
            self.answers.answer(request)
        } else {
            stream::pending().boxed()
        }
    }

    fn price(&self) -> ModelPrice {
        ModelPrice::new(Usd::from_micros(0), Usd::from_micros(0))
    }
}

/// M18, M19: a task that was running when its process ended is reported as failed and is
/// tried again.
#[tokio::test(flavor = "multi_thread")]
async fn m18_m19_an_interrupted_task_is_tried_again() {
    let database = TestDatabase::sqlite_file();
    let store = database.migrated().await;
    let answers = FunctionModel::new(observe_facts);
    let model = Arc::new(StuckModel { is_asked: AtomicBool::new(false), answers });
    let mut thread = TestThread::open(&store, small(), model.clone()).await;
    for number in 0..6 {
        thread.turn(&text(&format!("fact {number}"), 90)).await;
    }
    ostler_testkit::eventually("the model is asked", async || {
        model.is_asked.load(Ordering::SeqCst)
    })
    .await;
    thread.restart().await;
    assert_eq!(thread.event_names(), ["om_buffering_start", "om_buffering_failed"]);
    thread.settle(6).await;
    thread.say("hi").await;
    thread.settle(1).await;
    let names = thread.event_names();
    assert_eq!(names[2..], ["om_buffering_start", "om_buffering_end"]);
}

/// M18: whatever fails and whenever processes end, each start has exactly one end or
/// failure, and an activation follows the end of a buffering.
#[tokio::test(flavor = "multi_thread")]
async fn m18_each_start_has_one_end() {
    let database = TestDatabase::sqlite_file();
    let store = database.migrated().await;
    let count = AtomicU64::new(0);
    let flaky = FunctionModel::new(move |request| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        match number % 3 {
            0 => observe_facts(request),
            1 => None,
            _ => Some("{}".into()),
        }
    });
    let mut thread = TestThread::open(&store, small(), flaky).await;
    for number in 0..80 {
        thread.turn(&text(&format!("fact {number}"), 90)).await;
        thread.settle(60).await;
        if number % 7 == 0 {
            thread.restart().await;
        }
    }
    let (ends, activations) = check_pairs(&thread.events);
    assert!(ends > 10 && activations > 3, "{ends} ends, {activations} activations");
}

/// Checks the order of events, and returns how many tasks ended and how many activations
/// there were.
pub(crate) fn check_pairs(events: &Mutex<Vec<MemoryEvent>>) -> (u32, u32) {
    let mut open: Option<(String, String)> = None;
    let (mut ends, mut activations, mut staged) = (0, 0, 0);
    for event in events.lock().unwrap().iter().map(|event| json!(event)) {
        let name = event["type"].as_str().unwrap();
        let cycle = || event["ext"]["cycleId"].as_str().unwrap().to_owned();
        match name.rsplit_once('_').unwrap() {
            ("om", "activation") => {
                assert!(staged > 0, "activation without a finished buffering");
                assert_eq!(event["ext"]["chunksActivated"], Value::from(staged));
                (staged, activations) = (0, activations + 1);
            }
            ("om", _) => {}
            (kind, "start") => {
                assert_eq!(open.replace((kind.to_owned(), cycle())), None, "two at a time");
            }
            (kind, end) => {
                assert_eq!(open.take(), Some((kind.to_owned(), cycle())), "{end} without start");
                ends += 1;
                staged += u64::from(kind == "om_buffering" && end == "end");
            }
        }
    }
    assert_eq!(open, None);
    (ends, activations)
}
