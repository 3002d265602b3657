//! The event log: followed without a gap and without a repeat.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_store::{EventCursor, NewEvent, Store};

use crate::on_every_backend;
use crate::world::{accept, claim, turn, with_org};

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
