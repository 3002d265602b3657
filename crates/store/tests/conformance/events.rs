//! The event log: readers see every event once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_store::{EventCursor, NewEvent, Store, StoredEvent};

use crate::on_every_backend;
use crate::support::{accept, claim, turn, with_org};

/// Reads the log from the cursor to its end.
async fn follow(store: &Store, org: OrgId, cursor: &mut EventCursor, seen: &mut Vec<String>) {
    loop {
        let events = store.org(org).events_after(*cursor, 7).await.expect("reading works");
        let Some(last) = events.last() else { return };
        // A client reconnects with the text form of its cursor.
        *cursor = last.cursor.to_string().parse().expect("a cursor is read back");
        seen.extend(events.into_iter().map(|event| event.kind));
    }
}

on_every_backend!(
    /// Z03: a reader sees each event once while many turns commit.
    z03_followers_see_every_event_once
);
async fn z03_followers_see_every_event_once(store: &Store) {
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
            // The last commit becomes visible when no older transaction is running on
            // the server, including those of other tests.
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
                store.commit_turn(&commit).await.expect("the turn commits");
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
    /// Z03: a reader can resume at any event, even within a commit, and gets each as it was
    /// written.
    z03_a_reader_resumes_at_any_event
);
async fn z03_a_reader_resumes_at_any_event(store: &Store) {
    let org = with_org(store, 1).await;
    let texts = ["{}", "null", "\"a\"", "{\"b\": 1.0, \"a\": [2]}", "no JSON", " {} ", ""];
    for n in 0..3 {
        accept(store, org, "rosa", &format!("m{n}")).await;
        let mut commit = turn(&claim(store).await.unwrap());
        let event = |data: &&str| NewEvent { kind: format!("e{n}"), data: (*data).into() };
        commit.events = texts.iter().map(event).collect();
        store.commit_turn(&commit).await.unwrap();
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

/// Returns the first events of the log once they are visible: a transaction of another
/// test may delay them.
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
