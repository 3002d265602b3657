//! Messages held for a decision.

use ostler_domain::id::EnvelopeId;
use ostler_store::{HeldMessage, HeldMessageKind, Store};
use tokio::task::JoinSet;

use super::name;
use crate::on_every_backend;
use crate::support::with_org;

const fn message(number: u128) -> EnvelopeId {
    EnvelopeId::from_u128(number)
}

on_every_backend!(a_held_message_is_taken_once);
async fn a_held_message_is_taken_once(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let (org_store, rosa) = (store.org(org), name("rosa"));
    let hold = async |kind, number, data: &str| {
        org_store.hold_message(kind, &rosa, message(number), data.into()).await.unwrap()
    };
    let held = |number, version, data: &str| HeldMessage {
        message: message(number),
        version,
        data: data.into(),
    };
    for number in 1..=3 {
        assert_eq!(hold(HeldMessageKind::WorkList, number, "1").await, held(number, 1, "1"));
    }
    assert_eq!(hold(HeldMessageKind::WorkList, 2, "other").await, held(2, 1, "1"));
    assert_eq!(hold(HeldMessageKind::Plan, 2, "plan").await, held(2, 1, "plan"));
    let change = async |changed| {
        org_store.update_held_message(HeldMessageKind::Plan, &rosa, changed).await.unwrap()
    };
    assert!(change(held(2, 1, "approved")).await);
    assert!(!change(held(2, 1, "rejected")).await, "somebody was faster");
    let found = org_store.held_message(HeldMessageKind::Plan, &rosa, message(2)).await.unwrap();
    assert_eq!(found, Some(held(2, 2, "approved")));
    let list = async |after| {
        org_store.held_messages(HeldMessageKind::WorkList, &rosa, after, 2).await.unwrap()
    };
    assert_eq!(list(Some(message(1))).await, [held(2, 1, "1"), held(3, 1, "1")]);

    let mut running = JoinSet::new();
    for _ in 0..20 {
        let (store, rosa) = (store.clone(), rosa.clone());
        running.spawn(async move {
            let org_store = store.org(org);
            org_store.take_held_message(HeldMessageKind::WorkList, &rosa, message(1)).await.unwrap()
        });
    }
    let taken: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken, [held(1, 1, "1")]);
    let theirs = store.org(other).held_messages(HeldMessageKind::WorkList, &rosa, None, 9).await;
    assert_eq!(theirs.unwrap(), []);
}
