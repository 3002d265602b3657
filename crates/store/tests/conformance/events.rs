//! The event log: followed without a gap and without a repeat.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_store::{EventCursor, NewEvent, Store, StoredEvent};

use crate::on_every_backend;
use crate::world::{Backend, accept, claim, turn, with_org};

/// Reads the log to its end from where it was left.
async fn follow(store: &Store, org: OrgId, cursor: &mut EventCursor, seen: &mut Vec<String>) {
    loop {
        let events = store.org(org).events_after(*cursor, 7).await.expect("reading works");
        let Some(last) = events.last() else { return };
        // As a client would that reconnects with the text it has.
        *cursor = last.cursor.to_string().parse().expect("a cursor is read back");
        seen.extend(events.into_iter().map(|event| event.kind));
    }
}

on_every_backend!(
    /// Z03: a reader that follows while many commit sees each event once.
    z03_followers_miss_and_repeat_nothing
);
async fn z03_followers_miss_and_repeat_nothing(store: &Store) {
    let org = with_org(store, 1).await;
    for n in 0..40 {
        accept(store, org, &format!("p{n}"), &format!("m{n}")).await;
    }
    let done = Arc::new(AtomicBool::new(false));
    let follower = {
        let (store, done) = (store.clone(), done.clone());
        tokio::spawn(async move {
            let (mut cursor, mut seen) = (EventCursor::default(), Vec::new());
            while !done.load(Ordering::Relaxed) {
                follow(&store, org, &mut cursor, &mut seen).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // What commits last is seen once nothing older is running, also in
            // the databases of other tests.
            for _ in 0..3000 {
                follow(&store, org, &mut cursor, &mut seen).await;
                if seen.len() >= 120 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            seen
        })
    };
    let workers = (0..8).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            while let Some(claimed) = claim(&store).await {
                let mut commit = turn(&claimed);
                let event = |n: u32| NewEvent {
                    kind: format!("{}-{n}", claimed.messages[0].payload),
                    data: "{}".into(),
                };
                commit.events = (0..3).map(event).collect();
                store.commit_turn(commit).await.expect("the turn commits");
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    let seen = follower.await.unwrap();
    let different: BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), different.len()), (120, 120));
}

on_every_backend!(
    /// Z03: a reader goes on at any event, also in the midst of a commit, and
    /// gets each as it was written.
    z03_a_reader_goes_on_at_any_event
);
async fn z03_a_reader_goes_on_at_any_event(store: &Store) {
    let org = with_org(store, 1).await;
    let texts = ["{}", "null", "\"a\"", "{\"b\": 1.0, \"a\": [2]}", "no JSON", " {} ", ""];
    for n in 0..3 {
        accept(store, org, "rosa", &format!("m{n}")).await;
        let mut commit = turn(&claim(store).await.unwrap());
        let event = |data: &&str| NewEvent { kind: format!("e{n}"), data: (*data).into() };
        commit.events = texts.iter().map(event).collect();
        store.commit_turn(commit).await.unwrap();
    }
    let all = all_of(store, org, 21).await;
    for (at, event) in all.iter().enumerate() {
        let expected = (format!("e{}", at / 7), texts[at % 7]);
        assert_eq!((event.kind.clone(), event.data.as_str()), expected);
        let cursor = event.cursor.to_string().parse().unwrap();
        for most in [1, 3, 100] {
            let rest = store.org(org).events_after(cursor, most).await.unwrap();
            let end = all.len().min(at + 1 + most as usize);
            assert_eq!(rest, all[at + 1..end], "{most} after {cursor}");
        }
    }
}

/// So many events from the beginning of the log, once they can be read: something
/// older may be running in the database of another test.
async fn all_of(store: &Store, org: OrgId, count: usize) -> Vec<StoredEvent> {
    for _ in 0..3000 {
        let events = store.org(org).events_after(EventCursor::default(), 5000).await.unwrap();
        if events.len() >= count {
            return events;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the log is not complete");
}

/// Events that a program wrote one by one are followed as before, from the places
/// that its readers know.
#[tokio::test(flavor = "multi_thread")]
async fn older_events_are_brought_forward() {
    for backend in Backend::both().await {
        let store = Store::connect(&backend.url).unwrap();
        store.migrate_to(15).await.unwrap();
        let org = backend.with_old_org(1).await;
        let (id, session, run) = (backend.id(1), backend.id(2), backend.id(3));
        backend
            .execute(&format!(
                "INSERT INTO runs (org, id, session, data) VALUES ({id}, {run}, {session}, '{{}}');
                 INSERT INTO events (org, session, kind, data, at) VALUES
                   ({id}, {session}, 'a\"', '{{\"n\": 1}}', 1),
                   ({id}, {session}, 'b', 'it''s no JSON', 2),
                   ({id}, NULL, 'c', '3', 3)"
            ))
            .await;
        store.migrate().await.unwrap();
        let events = all_of(&store, org, 3).await;
        let expected = [("a\"", "{\"n\": 1}", 1), ("b", "it's no JSON", 2), ("c", "3", 3)];
        let read: Vec<_> = events
            .iter()
            .map(|event| (event.kind.as_str(), event.data.as_str(), event.at.as_millis()))
            .collect();
        assert_eq!(read, expected);
        let numbers: Vec<String> = events.iter().map(|event| event.cursor.to_string()).collect();
        for (number, text) in (1..=3).zip(&numbers) {
            assert!(text.ends_with(&format!("-{number}")), "{text} is as it was");
        }
        assert_eq!(backend.count(&format!("events WHERE run = {run}")).await, 2);
        accept(&store, org, "rosa", "m1").await;
        store.commit_turn(turn(&claim(&store).await.unwrap())).await.unwrap();
        let all = all_of(&store, org, 4).await;
        assert_eq!((&all[..3], all[3].kind.as_str()), (&events[..], "turn_done"));
        assert!(all[3].cursor.to_string().ends_with("-4"), "numbers go on");
    }
}
