//! Messages that wait for somebody's decision.

use ostler_domain::id::EnvelopeId;
use ostler_store::{HeldKind, HeldMessage, Store};
use tokio::task::JoinSet;

use super::name;
use crate::on_every_backend;
use crate::world::with_org;

const fn message(number: u128) -> EnvelopeId {
    EnvelopeId::from_u128(number)
}

on_every_backend!(messages_wait_and_are_taken_once);
async fn messages_wait_and_are_taken_once(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let (there, rosa) = (store.org(org), name("rosa"));
    let hold = async |kind, number, data: &str| {
        there.hold_message(kind, &rosa, message(number), data.into()).await.unwrap()
    };
    let kept = |number, version, data: &str| HeldMessage {
        message: message(number),
        version,
        data: data.into(),
    };
    for number in 1..=3 {
        assert_eq!(hold(HeldKind::WorkList, number, "1").await, kept(number, 1, "1"));
    }
    assert_eq!(hold(HeldKind::WorkList, 2, "other").await, kept(2, 1, "1"));
    assert_eq!(hold(HeldKind::Plan, 2, "plan").await, kept(2, 1, "plan"));
    let change =
        async |changed| there.change_held_message(HeldKind::Plan, &rosa, changed).await.unwrap();
    assert!(change(kept(2, 1, "approved")).await);
    assert!(!change(kept(2, 1, "rejected")).await, "somebody was faster");
    let found = there.held_message(HeldKind::Plan, &rosa, message(2)).await.unwrap();
    assert_eq!(found, Some(kept(2, 2, "approved")));
    let list =
        async |after| there.held_messages(HeldKind::WorkList, &rosa, after, 2).await.unwrap();
    assert_eq!(list(Some(message(1))).await, [kept(2, 1, "1"), kept(3, 1, "1")]);

    let mut running = JoinSet::new();
    for _ in 0..20 {
        let (store, rosa) = (store.clone(), rosa.clone());
        running.spawn(async move {
            let there = store.org(org);
            there.take_held_message(HeldKind::WorkList, &rosa, message(1)).await.unwrap()
        });
    }
    let taken: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken, [kept(1, 1, "1")]);
    let theirs = store.org(other).held_messages(HeldKind::WorkList, &rosa, None, 9).await;
    assert_eq!(theirs.unwrap(), []);
}
