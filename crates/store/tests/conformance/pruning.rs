//! Pruning of the event log.

use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_store::{EventCursor, EventLimits, NewEvent, Store, StoreError, StoredEvent};

use crate::on_every_backend;
use crate::support::{TestDatabase, accept, claim, turn, with_org};

const ALWAYS: Duration = Duration::from_secs(86_400 * 365);
const ALL: EventLimits = EventLimits { max_age: ALWAYS, max_events: u64::MAX };

async fn record_events(store: &Store, org: OrgId, count: u32) {
    accept(store, org, "rosa", &format!("m{}", crate::support::next())).await;
    let mut commit = turn(&claim(store).await.unwrap());
    let event = |n| NewEvent { kind: format!("e{n}"), data: "{}".into() };
    commit.events = (0..count).map(event).collect();
    store.commit_turn(&commit).await.unwrap();
}

/// Reads the log once it is complete: older transactions in the databases of
/// other tests may delay it.
async fn log(store: &Store, org: OrgId, after: EventCursor, count: usize) -> Vec<StoredEvent> {
    for _ in 0..3000 {
        let events = store.org(org).events_after(after, 5000).await.unwrap();
        if events.len() >= count {
            return events;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the log is not complete");
}

on_every_backend!(
    /// Z03: a reader behind the pruned events gets an error with the cursor to
    /// continue from.
    z03_a_reader_behind_the_pruned_events_gets_an_error
);
async fn z03_a_reader_behind_the_pruned_events_gets_an_error(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    record_events(store, org, 10).await;
    record_events(store, other, 10).await;
    let before = log(store, org, EventCursor::default(), 10).await;
    log(store, other, EventCursor::default(), 10).await;
    assert_eq!(store.org(org).prune_events(ALL).await.unwrap(), 0, "nothing is too much");
    let four = EventLimits { max_events: 4, ..ALL };
    assert_eq!(store.org(org).prune_events(four).await.unwrap(), 6);
    assert_eq!(store.org(org).prune_events(four).await.unwrap(), 0);
    for behind in [EventCursor::default(), before[0].cursor, before[4].cursor] {
        match store.org(org).events_after(behind, 100).await {
            Err(StoreError::EventsPruned { go_on_from }) => {
                assert_eq!(log(store, org, go_on_from, 4).await, before[6..]);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(log(store, org, before[5].cursor, 4).await, before[6..], "it missed nothing");
    assert_eq!(log(store, org, before[7].cursor, 2).await, before[8..]);
    assert_eq!(log(store, other, EventCursor::default(), 10).await.len(), 10);
    record_events(store, org, 1).await;
    log(store, org, before[9].cursor, 1).await;
}

on_every_backend!(events_of_one_commit_are_pruned_one_by_one);
async fn events_of_one_commit_are_pruned_one_by_one(store: &Store) {
    let org = with_org(store, 1).await;
    for count in [3, 1, 4] {
        record_events(store, org, count).await;
    }
    let before = log(store, org, EventCursor::default(), 8).await;
    for keep in (1..8).rev() {
        let limits = EventLimits { max_events: keep as u64, ..ALL };
        assert_eq!(store.org(org).prune_events(limits).await.unwrap(), 1);
        let newer = &before[8 - keep..];
        let last_gone = before[7 - keep].cursor;
        assert_eq!(log(store, org, last_gone, keep).await, newer, "{keep} stay");
        match store.org(org).events_after(EventCursor::default(), 100).await {
            Err(StoreError::EventsPruned { go_on_from }) => assert_eq!(go_on_from, last_gone),
            other => panic!("{other:?}"),
        }
    }
    record_events(store, org, 2).await;
    assert_eq!(log(store, org, before[7].cursor, 2).await.len(), 2);
}

on_every_backend!(the_newest_event_is_never_pruned);
async fn the_newest_event_is_never_pruned(store: &Store) {
    let org = with_org(store, 1).await;
    let nothing = EventLimits { max_age: Duration::ZERO, max_events: 0 };
    assert_eq!(store.org(org).prune_events(nothing).await.unwrap(), 0, "there is none");
    record_events(store, org, 2500).await;
    let before = log(store, org, EventCursor::default(), 2500).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(store.org(org).prune_events(nothing).await.unwrap(), 2499, "in several batches");
    assert_eq!(log(store, org, before[2498].cursor, 1).await, before[2499..]);
    assert_eq!(store.org(org).prune_events(nothing).await.unwrap(), 0);
}

/// Events that are too old are pruned, up to the first that is not.
#[tokio::test(flavor = "multi_thread")]
async fn events_older_than_the_limit_are_pruned() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        for count in [2, 1, 3, 2, 2] {
            record_events(&store, org, count).await;
        }
        let before = log(&store, org, EventCursor::default(), 10).await;
        // The first two commits are old, and one in the middle.
        for old in [1, 2, 7] {
            let old = before[old].cursor.to_string();
            let (_, id) = old.split_once('-').unwrap();
            backend.execute(&format!("UPDATE events SET at = 1000 WHERE id = {id}")).await;
        }
        assert_eq!(store.org(org).prune_events(ALL).await.unwrap(), 3);
        let left = log(&store, org, before[2].cursor, 7).await;
        let places = |events: &[StoredEvent]| -> Vec<_> {
            events.iter().map(|event| (event.cursor, event.kind.clone())).collect()
        };
        assert_eq!(places(&left), places(&before[3..]));
    }
}
