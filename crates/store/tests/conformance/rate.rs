//! Rate counters: never past the limit, however many count at once.

use ostler_domain::time::Window;
use ostler_store::{Count, Counted, Store, Used};

use crate::on_every_backend;
use crate::world::{Backend, accept, claim, turn, with_org};

const fn used(counted: Counted) -> u64 {
    match counted {
        Counted::Within(Used { used, .. }) | Counted::Exceeded(Used { used, .. }) => used,
    }
}

on_every_backend!(
    /// A08: a thousand who count at once do not pass the limit, and none of it is
    /// left unused.
    a08_many_who_count_do_not_pass_the_limit
);
async fn a08_many_who_count_do_not_pass_the_limit(store: &Store) {
    let org = with_org(store, 1).await;
    let count = |_| {
        let store = store.clone();
        tokio::spawn(async move { store.org(org).count("messages", Window::Day, 1, 100).await })
    };
    let mut within = 0;
    for done in (0..1000).map(count).collect::<Vec<_>>() {
        match done.await.unwrap().unwrap() {
            Counted::Within(Used { used, .. }) => {
                within += 1;
                assert!(used <= 100);
            }
            Counted::Exceeded(Used { used, .. }) => assert_eq!(used, 100),
        }
    }
    assert_eq!(within, 100);
    assert_eq!(store.org(org).counted("messages", Window::Day).await.unwrap().used, 100);
}

on_every_backend!(amounts_are_counted_whole_or_not_at_all);
async fn amounts_are_counted_whole_or_not_at_all(store: &Store) {
    let org = with_org(store, 1).await;
    let count = async |amount, limit| {
        store.org(org).count("cost", Window::Day, amount, limit).await.unwrap()
    };
    let read = async || store.org(org).counted("cost", Window::Day).await.unwrap().used;
    assert_eq!(read().await, 0);
    assert!(matches!(count(6, 5).await, Counted::Exceeded(Used { used: 0, .. })));
    assert_eq!(read().await, 0, "a first count above the limit is none");
    assert!(matches!(count(3, 5).await, Counted::Within(Used { used: 3, .. })));
    assert!(matches!(count(3, 5).await, Counted::Exceeded(Used { used: 3, .. })));
    assert!(matches!(count(2, 5).await, Counted::Within(Used { used: 5, .. })));
    assert!(matches!(count(0, 5).await, Counted::Within(Used { used: 5, .. })));
    assert!(matches!(count(1, 0).await, Counted::Exceeded(Used { used: 5, .. })));
    assert!(matches!(count(7, u64::MAX).await, Counted::Within(Used { used: 12, .. })));
    assert!(matches!(count(u64::MAX, u64::MAX).await, Counted::Exceeded(Used { used: 12, .. })));
    assert_eq!(read().await, 12);
}

on_every_backend!(
    /// A05: each org, each thing and each kind of window has a counter of its own.
    a05_counters_stay_apart
);
async fn a05_counters_stay_apart(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let count = async |org, what: &str, window| {
        used(store.org(org).count(what, window, 1, 9).await.unwrap())
    };
    assert_eq!(count(here, "messages", Window::Day).await, 1);
    assert_eq!(count(here, "messages", Window::Day).await, 2);
    assert_eq!(count(there, "messages", Window::Day).await, 1);
    assert_eq!(count(here, "calls", Window::Day).await, 1);
    assert_eq!(count(here, "messages", Window::Hour).await, 1);
    assert_eq!(store.org(there).counted("calls", Window::Day).await.unwrap().used, 0);
    for window in [Window::Minute, Window::Hour, Window::Day] {
        let resets_at = store.org(here).counted("messages", window).await.unwrap().resets_at;
        assert_eq!(resets_at.as_millis() % window.span().as_millis() as i64, 0);
    }
}

on_every_backend!(
    /// A08: what turns have counted and what is counted against a limit is one count,
    /// however many turns are committed at once.
    a08_what_turns_count_is_held_against_the_limit
);
async fn a08_what_turns_count_is_held_against_the_limit(store: &Store) {
    let org = with_org(store, 1).await;
    let mut turns = Vec::new();
    for n in 0..8 {
        accept(store, org, &format!("p{n}"), &format!("m{n}")).await;
        let mut turn = turn(&claim(store).await.unwrap());
        let what = "messages".to_owned();
        turn.aside.counts.push(Count { what, window: Window::Day, amount: 5 });
        turns.push(turn);
    }
    let workers = turns.into_iter().map(|turn| {
        let store = store.clone();
        tokio::spawn(async move { store.commit_turn(turn).await.unwrap() })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    let count =
        async |limit| store.org(org).count("messages", Window::Day, 1, limit).await.unwrap();
    assert_eq!(store.org(org).counted("messages", Window::Day).await.unwrap().used, 40);
    assert!(matches!(count(40).await, Counted::Exceeded(Used { used: 40, .. })));
    assert!(matches!(count(41).await, Counted::Within(Used { used: 41, .. })));
    assert!(matches!(count(41).await, Counted::Exceeded(Used { used: 41, .. })));
    assert!(matches!(count(42).await, Counted::Within(Used { used: 42, .. })));
}

/// A08: a new window counts from nothing, and the old ones are deleted in
/// batches.
#[tokio::test(flavor = "multi_thread")]
async fn a08_a_new_window_counts_from_nothing() {
    for backend in [Backend::sqlite_file(), Backend::postgres().await] {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        for what in ["a", "b", "c"] {
            store.org(org).count(what, Window::Day, 5, 5).await.unwrap();
        }
        assert_eq!(store.sweep_counters(9).await.unwrap(), 0);
        backend.execute("UPDATE rate_counters SET ends_at = ends_at - 86400000").await;
        assert_eq!(store.org(org).counted("a", Window::Day).await.unwrap().used, 0);
        let again = store.org(org).count("a", Window::Day, 5, 5).await.unwrap();
        assert!(matches!(again, Counted::Within(Used { used: 5, .. })));
        assert_eq!(store.sweep_counters(2).await.unwrap(), 2);
        assert_eq!(store.sweep_counters(9).await.unwrap(), 1);
        assert_eq!(store.sweep_counters(9).await.unwrap(), 0);
        assert_eq!(store.org(org).counted("a", Window::Day).await.unwrap().used, 5);
    }
}
