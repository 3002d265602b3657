//! Rate counters.

use ostler_domain::time::Window;
use ostler_store::{CountOutcome, CounterIncrement, CounterUsage, Store};

use crate::on_every_backend;
use crate::support::{TestDatabase, accept, claim, turn, with_org};

const fn used(counted: CountOutcome) -> u64 {
    match counted {
        CountOutcome::Within(CounterUsage { used, .. })
        | CountOutcome::Exceeded(CounterUsage { used, .. }) => used,
    }
}

on_every_backend!(
    /// A08: a thousand concurrent callers use exactly the limit.
    a08_concurrent_counting_does_not_exceed_the_limit
);
async fn a08_concurrent_counting_does_not_exceed_the_limit(store: &Store) {
    let org = with_org(store, 1).await;
    let count = |_| {
        let store = store.clone();
        tokio::spawn(async move {
            store.org(org).count_within_limit("messages", Window::Day, 1, 100).await
        })
    };
    let mut within = 0;
    for done in (0..1000).map(count).collect::<Vec<_>>() {
        match done.await.unwrap().unwrap() {
            CountOutcome::Within(CounterUsage { used, .. }) => {
                within += 1;
                assert!(used <= 100);
            }
            CountOutcome::Exceeded(CounterUsage { used, .. }) => assert_eq!(used, 100),
        }
    }
    assert_eq!(within, 100);
    assert_eq!(store.org(org).counter_usage("messages", Window::Day).await.unwrap().used, 100);
}

on_every_backend!(amounts_are_counted_entirely_or_not_at_all);
async fn amounts_are_counted_entirely_or_not_at_all(store: &Store) {
    let org = with_org(store, 1).await;
    let count = async |amount, limit| {
        store.org(org).count_within_limit("cost", Window::Day, amount, limit).await.unwrap()
    };
    let read = async || store.org(org).counter_usage("cost", Window::Day).await.unwrap().used;
    assert_eq!(read().await, 0);
    assert!(matches!(count(6, 5).await, CountOutcome::Exceeded(CounterUsage { used: 0, .. })));
    assert_eq!(read().await, 0, "a first count above the limit is none");
    assert!(matches!(count(3, 5).await, CountOutcome::Within(CounterUsage { used: 3, .. })));
    assert!(matches!(count(3, 5).await, CountOutcome::Exceeded(CounterUsage { used: 3, .. })));
    assert!(matches!(count(2, 5).await, CountOutcome::Within(CounterUsage { used: 5, .. })));
    assert!(matches!(count(0, 5).await, CountOutcome::Within(CounterUsage { used: 5, .. })));
    assert!(matches!(count(1, 0).await, CountOutcome::Exceeded(CounterUsage { used: 5, .. })));
    assert!(matches!(
        count(7, u64::MAX).await,
        CountOutcome::Within(CounterUsage { used: 12, .. })
    ));
    assert!(matches!(
        count(u64::MAX, u64::MAX).await,
        CountOutcome::Exceeded(CounterUsage { used: 12, .. })
    ));
    assert_eq!(read().await, 12);
}

on_every_backend!(
    /// A05: each org, name and window has its own counter.
    a05_counters_are_separate_per_org_name_and_window
);
async fn a05_counters_are_separate_per_org_name_and_window(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let count = async |org, what: &str, window| {
        used(store.org(org).count_within_limit(what, window, 1, 9).await.unwrap())
    };
    assert_eq!(count(here, "messages", Window::Day).await, 1);
    assert_eq!(count(here, "messages", Window::Day).await, 2);
    assert_eq!(count(there, "messages", Window::Day).await, 1);
    assert_eq!(count(here, "calls", Window::Day).await, 1);
    assert_eq!(count(here, "messages", Window::Hour).await, 1);
    assert_eq!(store.org(there).counter_usage("calls", Window::Day).await.unwrap().used, 0);
    for window in [Window::Minute, Window::Hour, Window::Day] {
        let resets_at = store.org(here).counter_usage("messages", window).await.unwrap().resets_at;
        assert_eq!(resets_at.as_millis() % window.duration().as_millis() as i64, 0);
    }
}

on_every_backend!(
    /// A08: counts of turns and counts with a limit share one counter, however many
    /// turns are committed at once.
    a08_counts_of_turns_are_checked_against_the_limit
);
async fn a08_counts_of_turns_are_checked_against_the_limit(store: &Store) {
    let org = with_org(store, 1).await;
    let mut turns = Vec::new();
    for n in 0..8 {
        accept(store, org, &format!("p{n}"), &format!("m{n}")).await;
        let mut turn = turn(&claim(store).await.unwrap());
        let what = "messages".to_owned();
        turn.side_effects.counts.push(CounterIncrement {
            counter: what,
            window: Window::Day,
            amount: 5,
        });
        turns.push(turn);
    }
    let workers = turns.into_iter().map(|turn| {
        let store = store.clone();
        tokio::spawn(async move { store.commit_turn(&turn).await.unwrap() })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    let count = async |limit| {
        store.org(org).count_within_limit("messages", Window::Day, 1, limit).await.unwrap()
    };
    assert_eq!(store.org(org).counter_usage("messages", Window::Day).await.unwrap().used, 40);
    assert!(matches!(count(40).await, CountOutcome::Exceeded(CounterUsage { used: 40, .. })));
    assert!(matches!(count(41).await, CountOutcome::Within(CounterUsage { used: 41, .. })));
    assert!(matches!(count(41).await, CountOutcome::Exceeded(CounterUsage { used: 41, .. })));
    assert!(matches!(count(42).await, CountOutcome::Within(CounterUsage { used: 42, .. })));
}

/// A08: a new window starts at zero, and old windows are deleted in batches.
#[tokio::test(flavor = "multi_thread")]
async fn a08_a_new_window_starts_at_zero() {
    for backend in [TestDatabase::sqlite_file(), TestDatabase::postgres().await] {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        for what in ["a", "b", "c"] {
            store.org(org).count_within_limit(what, Window::Day, 5, 5).await.unwrap();
        }
        assert_eq!(store.sweep_counters(9).await.unwrap(), 0);
        backend.execute("UPDATE rate_counters SET ends_at = ends_at - 86400000").await;
        assert_eq!(store.org(org).counter_usage("a", Window::Day).await.unwrap().used, 0);
        let again = store.org(org).count_within_limit("a", Window::Day, 5, 5).await.unwrap();
        assert!(matches!(again, CountOutcome::Within(CounterUsage { used: 5, .. })));
        assert_eq!(store.sweep_counters(2).await.unwrap(), 2);
        assert_eq!(store.sweep_counters(9).await.unwrap(), 1);
        assert_eq!(store.sweep_counters(9).await.unwrap(), 0);
        assert_eq!(store.org(org).counter_usage("a", Window::Day).await.unwrap().used, 5);
    }
}
