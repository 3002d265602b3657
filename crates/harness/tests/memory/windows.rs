//! Observation, buffering, activation and reflection.

use ostler_domain::memory::{MemorySettings, MessageOrigin};
use ostler_domain::money::Usd;
use ostler_domain::tool::Trust;
use ostler_engine::history::Item;
use ostler_store::{MemoryPurpose, ObservationState};
use ostler_testkit::TestDatabase;
use serde_json::{Value, json};

use crate::support::{
    FunctionModel, ORG, THREAD, TestThread, item_text, observe_facts, scripted, small, text,
};

/// M15, M17, M18: observations are buffered before the threshold and take the place of the
/// old messages at it. The turn that activates makes no call.
#[tokio::test(flavor = "multi_thread")]
async fn m15_m17_m18_observations_take_the_place_of_old_messages() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let observer = FunctionModel::new(observe_facts);
        let mut thread = TestThread::open(&store, small(), observer.clone()).await;
        thread.turn(&text("fact 1: Rosa pays 42 EUR", 90)).await;
        for _ in 0..2 {
            thread.turn(&text("chatter", 90)).await;
            thread.settle(1).await;
        }
        assert_eq!(thread.event_names(), [""; 0], "far below the threshold");
        for _ in 0..8 {
            thread.turn(&text("chatter", 90)).await;
            thread.settle(1).await;
            if thread.memory.status(0).windows.active.messages.tokens >= 1000 {
                break;
            }
        }
        let names = thread.event_names();
        assert!(names.len() >= 4, "{names:?}");
        for pair in names.chunks(2) {
            assert_eq!(pair, ["om_buffering_start", "om_buffering_end"]);
        }
        assert_eq!(thread.prompt().head, None, "not before the threshold");
        let calls = observer.calls();
        assert!(thread.memory.activate_if_ready());
        assert_eq!(observer.calls(), calls, "activation makes no call");
        assert_eq!(thread.event_names().last().unwrap(), "om_activation");

        let prompt = thread.prompt();
        let head = prompt.head.clone().expect("observations");
        assert!(
            head.contains("- #1 user assertion [1-1]: fact 1: Rosa pays 42 EUR lorem"),
            "{head}"
        );
        assert!(prompt.tail_start > 1, "the condensed messages are not in the prompt");
        let items = thread.prompt_items();
        assert_eq!(items.len(), 1 + thread.items.len() + 1 - prompt.tail_start as usize);
        assert_eq!(item_text(&items[0]), head.to_string());
        assert_eq!(items.last(), thread.items.last());
        assert_eq!(thread.recall("Rosa pays").await, [1], "nothing is deleted");
    }
}

/// M15: when nothing was buffered in time, the full window is observed in the background.
#[tokio::test(flavor = "multi_thread")]
async fn m15_m18_a_full_window_is_observed_in_the_background() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let script = r#"
        rules:
          - when: { user: { regex: '"seq":(?<seq>\d+),"speaker":"user"' } }
            answer: '{"observations":[{"speaker":"user","kind":"decision","text":"fact from a script","first":{{ seq }},"last":{{ seq }}}]}'
    "#;
    let mut thread = TestThread::open(&store, small(), scripted(script)).await;
    thread.say("hello").await;
    thread.say(&text("a very long message", 900)).await;
    thread.say(&text("another one", 250)).await;
    thread.settle(1).await;
    assert_eq!(thread.event_names(), ["om_observation_start", "om_observation_end"]);
    let prompt = thread.prompt();
    assert_eq!(prompt.tail_start, 3);
    assert!(prompt.head.unwrap().contains("fact from a script"));
    assert!(!thread.memory.activate_if_ready());
}

/// Merges all observations and keeps their facts.
fn merge_all(request: &str) -> Option<String> {
    let after = |line: &str, mark: &str| -> Option<u64> {
        line.split_once(mark)?.1.split(' ').next()?.parse().ok()
    };
    let ids: Vec<u64> = request.lines().filter_map(|line| after(line, "- #")).collect();
    let facts = request.lines().filter_map(|line| after(line, "fact "));
    let facts: Vec<String> = facts.map(|fact| format!("fact {fact}")).collect();
    Some(json!({ "merge": [{ "ids": ids, "text": facts.join(", ") }] }).to_string())
}

/// M16, Z12: at the reflection threshold the observations are merged; a new generation begins
/// and the calls of both models are returned to be charged.
#[tokio::test(flavor = "multi_thread")]
async fn m16_z12_observations_are_merged_at_the_threshold() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let (observer, reflector) =
            (FunctionModel::new(observe_facts), FunctionModel::new(merge_all));
        let settings = MemorySettings { reflection_threshold: 600, ..small() };
        let mut thread = TestThread::open_with(&store, settings, observer, reflector.clone()).await;
        for fact in 1..=8 {
            thread.turn(&text(&format!("fact {fact}"), 90)).await;
            thread.settle(1).await;
        }
        while reflector.calls() == 0 {
            thread.turn(&text("chatter", 90)).await;
            thread.settle(1).await;
        }
        let names = thread.event_names();
        assert!(names.contains(&"om_reflection_start".to_owned()), "{names:?}");
        assert!(names.contains(&"om_reflection_end".to_owned()), "{names:?}");
        let status = thread.memory.status(3);
        assert_eq!((status.generation_count, status.step_number), (1, 3));
        assert_eq!(status.record_id, format!("{THREAD}.1"));
        assert!(status.windows.active.observations.tokens < 100, "{status:?}");
        let head = thread.prompt().head.unwrap();
        assert!(head.contains("fact 1, fact 2, fact 3"), "{head}");

        let all = store.org(ORG).observations(THREAD).await.unwrap();
        let merged = all.iter().find(|one| one.generation == 1).expect("a merged observation");
        assert_eq!(merged.state, ObservationState::Active);
        assert_eq!(merged.observation.span.first, 1);
        let replaced = all.iter().filter(|one| one.state == ObservationState::Superseded);
        let by = Some(merged.observation.id);
        assert!(replaced.clone().all(|one| one.observation.superseded_by == by));
        assert_eq!(replaced.count(), merged.observation.supersedes.len(), "nothing is deleted");

        let calls = thread.memory.take_calls();
        let of = |purpose| calls.iter().filter(|call| call.purpose == purpose).collect::<Vec<_>>();
        let (observed, reflected) = (of(MemoryPurpose::Observer), of(MemoryPurpose::Reflector));
        assert!(observed.len() >= 2 && reflected.len() == 1, "{calls:?}");
        assert_eq!((reflected[0].input, reflected[0].output), (1000, 100));
        assert_eq!(reflected[0].cost, Usd::from_micros(1500));
        assert_eq!(
            (reflected[0].model.as_str(), reflected[0].purpose.as_str()),
            ("reflector", "reflector")
        );
        assert!(thread.memory.take_calls().is_empty());
    }
}

/// Z15: a reflection that loses a number is rejected and leaves everything as it was.
#[tokio::test(flavor = "multi_thread")]
async fn z15_a_lossy_reflection_changes_nothing() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let lossy = |request: &str| merge_all(request).map(|answer| answer.replace("fact 3, ", ""));
    let (observer, reflector) = (FunctionModel::new(observe_facts), FunctionModel::new(lossy));
    let settings = MemorySettings { reflection_threshold: 600, ..small() };
    let mut thread = TestThread::open_with(&store, settings, observer, reflector.clone()).await;
    for fact in 1..=8 {
        thread.turn(&text(&format!("fact {fact}"), 90)).await;
        thread.settle(1).await;
    }
    while reflector.calls() == 0 {
        thread.turn(&text("chatter", 90)).await;
        thread.settle(1).await;
    }
    let names = thread.event_names();
    assert!(names.contains(&"om_reflection_failed".to_owned()), "{names:?}");
    assert!(!names.contains(&"om_reflection_end".to_owned()), "{names:?}");
    let failed = json!(thread.events.lock().unwrap().clone());
    let failed =
        failed.as_array().unwrap().iter().find(|event| event["type"] == "om_reflection_failed");
    let why = failed.unwrap()["ext"]["error"].as_str().unwrap().to_owned();
    assert_eq!(why, "it loses `3` of #3 without saying so");
    assert_eq!(thread.memory.status(0).generation_count, 0);
    let all = store.org(ORG).observations(THREAD).await.unwrap();
    assert!(all.iter().all(|one| one.observation.superseded_by.is_none()));
}

/// The settings of a thread are its own and survive a restart.
#[tokio::test(flavor = "multi_thread")]
async fn m15_a_thread_has_its_own_models_and_thresholds() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let model = FunctionModel::new(observe_facts);
    let mut thread = TestThread::open(&store, small(), model.clone()).await;
    let mine = MemorySettings {
        observation_threshold: 500,
        observer_model: Some("missing".into()),
        ..small()
    };
    thread.memory.set_settings(mine.clone()).unwrap();
    let refused = MemorySettings { observation_threshold: 1, ..mine.clone() };
    assert!(thread.memory.set_settings(refused).is_err());
    thread.settle(1).await;
    thread.restart().await;
    assert_eq!(thread.memory.settings(), mine);
    for _ in 0..5 {
        thread.turn(&text("chatter", 90)).await;
    }
    thread.settle(1).await;
    assert_eq!(model.calls(), 0, "the thread names another model");
    let failed = json!(thread.events.lock().unwrap().clone()).to_string();
    assert!(failed.contains("there is no model `missing`"), "{failed}");
}

/// What the harness itself writes is never shown to the observer and never recalled: the
/// fault "the observer observes control prompts" is absent.
#[tokio::test(flavor = "multi_thread")]
async fn m15_the_observer_observes_control_prompts() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let observer = FunctionModel::new(observe_facts);
    let mut thread = TestThread::open(&store, small(), observer.clone()).await;
    for number in 0..10 {
        let control = Item::user(format!("control fact {number}: continue with the plan"));
        thread.add(control, MessageOrigin::Harness, Trust::Trusted).await;
        thread.turn(&text(&format!("fact {number}"), 80)).await;
        thread.settle(1).await;
    }
    thread.memory.activate_if_ready();
    let requests = observer.requests();
    assert!(requests.len() >= 2);
    for request in requests {
        assert!(!request.contains("continue with the plan"), "{request}");
        assert!(!request.contains("You keep the memory"), "the observer's own prompt");
    }
    assert!(!thread.prompt().head.unwrap().contains("continue with the plan"));
    assert_eq!(thread.recall("continue with the plan").await, [0; 0]);
}

/// The observer is shown what it may supersede, and an update replaces the old observation.
#[tokio::test(flavor = "multi_thread")]
async fn z15_an_update_supersedes_the_old_observation() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let observer = FunctionModel::new(|request: &str| {
        let mut answer: Value = serde_json::from_str(&observe_facts(request)?).ok()?;
        if request.contains("- #1 user assertion") {
            for observation in answer["observations"].as_array_mut()? {
                observation["supersedes"] = json!([1]);
            }
        }
        Some(answer.to_string())
    });
    let mut thread = TestThread::open(&store, small(), observer).await;
    thread.turn(&text("fact: the colour is blue", 90)).await;
    for _ in 0..12 {
        thread.turn(&text("chatter", 90)).await;
        thread.settle(1).await;
    }
    assert!(thread.prompt().head.unwrap().contains("the colour is blue"));
    thread.turn(&text("fact: the colour is green", 90)).await;
    for _ in 0..18 {
        thread.turn(&text("chatter", 90)).await;
        thread.settle(1).await;
    }
    let head = thread.prompt().head.unwrap();
    assert!(head.contains("the colour is green") && !head.contains("the colour is blue"), "{head}");
    let all = store.org(ORG).observations(THREAD).await.unwrap();
    assert_eq!(all[0].state, ObservationState::Superseded);
    assert_eq!(all[0].observation.superseded_by, Some(2));
}
