//! The event stream.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_harness::HarnessEvent;

use crate::support::{builder, names, ready, to_json};

/// M39, Z03: every subscriber sees the same events in order; one that is far behind
/// continues from the store without a gap or a repeat.
#[tokio::test]
async fn m39_z03_a_slow_subscriber_misses_nothing() {
    let (harness, mut quick) = ready(builder("default: ok").await).await;
    let mut slow = harness.subscribe();
    let mut ids = Vec::new();
    for turn in 0..150 {
        harness.send_message(format!("message {turn}")).await.unwrap();
        ids.extend(durable(std::iter::from_fn(|| quick.try_next())));
    }
    let mut found = Vec::new();
    while found.len() < ids.len() {
        found.extend(durable([slow.next().await].into_iter()));
    }
    assert_eq!(found, ids);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert!(ids.is_sorted());
    // A reader that comes back after any event continues behind it.
    let thread = harness.current_thread().await.unwrap().id;
    for at in [0, 1, 77, ids.len() - 2] {
        let mut again = harness.subscribe_after(thread, ids[at]);
        let mut rest = Vec::new();
        while rest.len() < ids.len() - at - 1 {
            rest.extend(durable([again.next().await].into_iter()));
        }
        assert_eq!(rest, ids[at + 1..]);
    }
}

fn durable(events: impl Iterator<Item = Arc<HarnessEvent>>) -> Vec<i64> {
    events.filter_map(|event| event.ext.id).collect()
}

/// M39: dropping a subscription unsubscribes; a dead one never delays a turn.
#[tokio::test]
async fn m39_a_dead_subscriber_delays_nothing() {
    let (harness, events) = ready(builder("default: ok").await).await;
    let idle = harness.subscribe();
    drop(events);
    for _ in 0..300 {
        harness.send_message("hi").await.unwrap();
    }
    drop(idle);
    let mut events = harness.subscribe();
    harness.send_message("hi").await.unwrap();
    assert_eq!(names(&mut events).last().map(String::as_str), Some("agent_end"));
    assert!(futures_util::FutureExt::now_or_never(events.next()).is_none());
}

/// M39: the JSON form has the keys of the kind and `ext`, and can be read again.
#[tokio::test]
async fn m39_events_can_be_read_again() {
    let (harness, mut events) = ready(builder("default: ok").await).await;
    harness.send_message("hi").await.unwrap();
    while let Some(event) = events.try_next() {
        let json = to_json(&event);
        assert!(json["ext"]["at"].is_number(), "{json}");
        let again: HarnessEvent = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(to_json(&again), json);
    }
}
