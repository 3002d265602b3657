//! A failing observer costs no turn.

use std::sync::atomic::{AtomicU64, Ordering};

use ostler_domain::memory::MessageOrigin;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::tool::Trust;
use ostler_engine::history::Item;
use ostler_engine::tokens;
use ostler_harness::memory::memory_message;
use ostler_testkit::TestDatabase;
use serde_json::json;

use crate::support::{
    FunctionModel, ORG, THREAD, TestThread, observe_facts, scripted, small, text, unlimited,
};

/// M20, Z11: the fault "memory failure kills the turn" is absent: with an observer that
/// always fails, every turn completes within the bound, nothing is lost, and attempts are
/// few.
#[tokio::test(flavor = "multi_thread")]
async fn m20_z11_memory_failure_kills_the_turn() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let observer = FunctionModel::new(|_| None);
        let mut thread = TestThread::open(&store, small(), observer.clone()).await;
        for number in 0..100 {
            let prompt = thread.turn(&text(&format!("fact {number} of Rosa"), 90)).await;
            let size: u64 = prompt.iter().map(tokens::of_item).sum();
            assert!(size <= small().message_limit() + 200, "turn {number}: {size}");
            thread.settle(10).await;
        }
        let names = thread.event_names();
        let (mut starts, mut failures) = (0, 0);
        for name in &names {
            match name.as_str() {
                "om_observation_start" | "om_buffering_start" => starts += 1,
                "om_observation_failed" | "om_buffering_failed" => failures += 1,
                other => panic!("{other}"),
            }
        }
        assert_eq!((starts, failures), (observer.calls(), observer.calls()));
        assert!((5..=15).contains(&starts), "{starts} attempts in 1000 seconds");
        assert_eq!(thread.recall("fact 3 of Rosa").await[0], 7);
        let head = thread.prompt().head.expect("a note that messages are missing");
        assert!(head.contains("`recall`"), "{head}");
    }
}

/// M16, Z11: with a reflector that always fails, the oldest observations leave the prompt
/// when it is full, and their messages are still found.
#[tokio::test(flavor = "multi_thread")]
async fn m16_z11_a_failing_reflector_leaves_the_prompt_bounded() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let (observer, reflector) = (FunctionModel::new(observe_facts), FunctionModel::new(|_| None));
    let mut thread = TestThread::open_with(&store, small(), observer, reflector.clone()).await;
    let bound = small().message_limit() + small().observation_limit() + 300;
    for number in 0..120 {
        let prompt = thread.turn(&text(&format!("fact {number}"), 90)).await;
        let size: u64 = prompt.iter().map(tokens::of_item).sum();
        assert!(size <= bound, "turn {number}: {size} of {bound}");
        thread.settle(10).await;
    }
    assert!((3..=12).contains(&reflector.calls()), "{} attempts", reflector.calls());
    let head = thread.prompt().head.unwrap();
    assert!(!head.contains(": fact 5 ") && head.contains(": fact 90 "), "{head}");
    assert_eq!(thread.recall("fact 5").await[0], 11);
    let before = thread.prompt();
    thread.restart().await;
    assert_eq!(thread.prompt(), before, "also after a restart");
}

/// M20: an answer that is not of the form is a failure, and the next attempt may succeed.
#[tokio::test(flavor = "multi_thread")]
async fn m20_z11_a_bad_answer_is_retried_after_a_wait() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let attempts = AtomicU64::new(0);
    let observer =
        FunctionModel::new(move |request| match attempts.fetch_add(1, Ordering::SeqCst) {
            0 => Some("Here are my observations: none.".into()),
            1 => None,
            _ => observe_facts(request),
        });
    let mut thread = TestThread::open(&store, small(), observer.clone()).await;
    for number in 0..6 {
        thread.turn(&text(&format!("fact {number}"), 90)).await;
        thread.settle(0).await;
    }
    assert_eq!(thread.event_names(), ["om_buffering_start", "om_buffering_failed"]);
    thread.clock.fetch_add(5000, Ordering::SeqCst);
    thread.say("hi").await;
    thread.settle(19).await;
    thread.say("hi").await;
    thread.settle(1).await;
    assert_eq!(observer.calls(), 2, "the second wait is 20 seconds");
    thread.say("hi").await;
    thread.settle(1).await;
    assert_eq!(
        thread.event_names(),
        [
            "om_buffering_start",
            "om_buffering_failed",
            "om_buffering_start",
            "om_buffering_failed",
            "om_buffering_start",
            "om_buffering_end"
        ]
    );
    let events = json!(thread.events.lock().unwrap().clone());
    let attempts: Vec<u64> = events
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] == "om_buffering_start")
        .map(|event| event["ext"]["attempt"].as_u64().unwrap())
        .collect();
    assert_eq!(attempts, [1, 2, 3]);
}

/// Z11, Z12: without credits the model is not asked; what a failed attempt used is charged.
#[tokio::test(flavor = "multi_thread")]
async fn z11_z12_the_budget_holds_for_the_observer() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let observer = scripted("price: { input: 3, output: 15 }\ndefault: no JSON\n");
    let mut thread = TestThread::open(&store, small(), observer).await;
    let nothing = TurnBudget { reserved: Credits::ZERO, session: Credits::ZERO, ..unlimited() };
    thread.memory.set_budget(nothing);
    for _ in 0..6 {
        thread.turn(&text("fact", 90)).await;
    }
    thread.settle(5).await;
    assert_eq!(thread.event_names(), ["om_buffering_start", "om_buffering_failed"]);
    assert!(thread.memory.take_calls().is_empty());
    thread.memory.set_budget(unlimited());
    thread.say("hi").await;
    thread.settle(0).await;
    let calls = thread.memory.take_calls();
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert!(calls[0].input > 500 && calls[0].cost.as_micros() > 0, "{calls:?}");
}

/// Z11: a database that cannot be written costs no turn either, and the memory goes on when
/// it can be written again.
#[tokio::test(flavor = "multi_thread")]
async fn z11_a_database_that_refuses_is_a_failure_and_not_the_end() {
    let database = TestDatabase::sqlite_file();
    let store = database.migrated().await;
    let observer = FunctionModel::new(observe_facts);
    let mut thread = TestThread::open(&store, small(), observer.clone()).await;
    for number in 0..3 {
        thread.turn(&text(&format!("fact {number}"), 90)).await;
    }
    let messages: Vec<_> = (7..=12)
        .map(|seq| {
            let item = Item::user(text("more facts", 90));
            memory_message(seq, &item, MessageOrigin::Conversation, Trust::Trusted)
        })
        .collect();
    store.org(ORG).append_memory_messages(THREAD, messages.clone()).await.unwrap();
    database.execute("ALTER TABLE thread_memory RENAME TO away").await;
    messages.iter().for_each(|message| thread.memory.on_message(message));
    thread.settle(5).await;
    assert_eq!(thread.event_names(), ["om_buffering_start", "om_buffering_failed"]);
    assert_eq!((observer.calls(), thread.prompt().tail_start), (0, 1));
    database.execute("ALTER TABLE away RENAME TO thread_memory").await;
    thread.items.extend(vec![Item::user("stored"); 6]);
    thread.say("hi").await;
    thread.settle(0).await;
    assert_eq!(thread.event_names()[2..4], ["om_buffering_start", "om_buffering_end"]);
}
