//! Credits where something changes in between: the parent, the plan, the
//! connection, a long queue of settled turns.

use ostler_domain::id::AgentId;
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::ReserveError;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::org::plan::Plan;
use ostler_domain::org::{Org, Place};
use ostler_store::{LineKind, NewGrant, NewReservation, Settle, Store, StoreError};
use tokio_postgres::NoTls;

use crate::ledger::{
    GIA, MINUTE, adds_up, available, bought, credits, model, reservation, settle, with_credits,
};
use crate::on_every_backend;
use crate::world::{Backend, accept, claim, org, turn, with_org};

/// More than are applied together.
const MANY: u64 = 520;

on_every_backend!(
    /// Z05: a child that leaves its agency, or changes to another, while turns
    /// hold the agency's credits: these go back where they came from.
    z05_a_child_that_changes_its_parent_mixes_nothing_up
);
async fn z05_a_child_that_changes_its_parent_mixes_nothing_up(store: &Store) {
    let old = with_credits(store, 1, Place::TopLevel, 50).await;
    let new = with_credits(store, 2, Place::TopLevel, 50).await;
    let child = with_credits(store, 3, Place::SubOrg { parent: old }, 0).await;
    let turns = [reservation(10), reservation(10), reservation(10)];
    for held in turns {
        store.org(child).reserve(held).await.unwrap();
    }
    let moved = |place| Org { plan: Plan::Free, place, ..org(3) };
    store.org(child).update_org(moved(Place::SubOrg { parent: new })).await.unwrap();
    store.org(child).top_up(turns[0].id, credits(15), MINUTE).await.unwrap();
    assert_eq!((available(store, old).await, available(store, new).await), (20, 45));
    settle(store, child, turns[0].id, 12).await;
    store.apply_settlements().await.unwrap();
    assert_eq!((available(store, old).await, available(store, new).await), (20, 48));
    store.org(child).update_org(moved(Place::TopLevel)).await.unwrap();
    settle(store, child, turns[1].id, 4).await;
    assert_eq!(available(store, child).await, 0);
    store.org(child).release(turns[2].id).await.unwrap();
    assert_eq!((available(store, old).await, available(store, new).await), (36, 48));
    adds_up(store, 3).await;
}

on_every_backend!(
    /// Z05: credits are found that turns hold which are over, however many there
    /// are, and whether the org's own, its parent's or a cap is in the way.
    z05_a_long_queue_of_settled_turns_refuses_nobody
);
async fn z05_a_long_queue_of_settled_turns_refuses_nobody(store: &Store) {
    let parent = with_credits(store, 1, Place::TopLevel, MANY).await;
    let child = with_credits(store, 2, Place::SubOrg { parent }, 0).await;
    for _ in 0..MANY {
        let held = reservation(1);
        store.org(parent).reserve(held).await.unwrap();
        settle(store, parent, held.id, 0).await;
    }
    let only = SharingPolicy { max_per_child: credits(20), ..SharingPolicy::default() };
    store.org(parent).set_sharing(only).await.unwrap();
    let held = reservation(20);
    store.org(child).reserve(held).await.expect("the parent's credits are free");
    settle(store, child, held.id, 0).await;
    store.org(child).reserve(reservation(20)).await.expect("the cap is not reached");
    store.org(parent).reserve(reservation(MANY - 20)).await.expect("they are free");
    adds_up(store, 2).await;
}

/// What was applied before a refusal stands, so that a repeat is cheap.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_leaves_the_queue_empty() {
    for backend in Backend::both().await {
        let store = backend.migrated().await;
        let org = with_credits(&store, 1, Place::TopLevel, 5).await;
        let held = reservation(5);
        store.org(org).reserve(held).await.unwrap();
        settle(&store, org, held.id, 2).await;
        let refused = store.org(org).reserve(reservation(4)).await;
        let Err(StoreError::Credits(ReserveError::Exhausted { available, .. })) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(available, credits(3));
        assert_eq!(backend.count("reservations").await, 0);
    }
}

/// One org's broken rows keep nobody else waiting, and are told.
#[tokio::test(flavor = "multi_thread")]
async fn what_fails_in_one_org_does_not_stop_the_others() {
    for backend in Backend::both().await {
        let store = backend.migrated().await;
        let mut ended = Vec::new();
        for id in [1, 2] {
            let org = with_credits(&store, id, Place::TopLevel, 10).await;
            let (over, orphan) = (reservation(3), reservation(4));
            store.org(org).reserve(over).await.unwrap();
            let orphan = NewReservation { lasts: std::time::Duration::ZERO, ..orphan };
            store.org(org).reserve(orphan).await.unwrap();
            settle(&store, org, over.id, 1).await;
            ended.push((org, orphan.id));
        }
        let bad = backend.id(1);
        backend.execute(&format!("UPDATE reservations SET data = '?' WHERE org = {bad}")).await;
        let failed = store.apply_settlements().await;
        assert!(matches!(failed, Err(StoreError::Unreadable { .. })), "{failed:?}");
        let failed = store.sweep_reservations().await;
        assert!(matches!(failed, Err(StoreError::Unreadable { .. })), "{failed:?}");
        let good = backend.id(2);
        assert_eq!(backend.count(&format!("reservations WHERE org = {good}")).await, 0);
        assert_eq!(backend.count("reservations").await, 2);
        assert_eq!(available(&store, ended[1].0).await, 9);
    }
}

on_every_backend!(
    /// Whoever does not hear whether it happened repeats it, and it happens once.
    z05_a_repeat_moves_no_credits
);
async fn z05_a_repeat_moves_no_credits(store: &Store) {
    let org = with_credits(store, 1, Place::TopLevel, 0).await;
    let grant = bought(30);
    for _ in 0..3 {
        store.org(org).grant(grant.clone()).await.unwrap();
    }
    assert_eq!(available(store, org).await, 30);
    let line = store.org(org).ledger_lines(None, 1).await.unwrap().remove(0);
    assert_eq!(line.kind, LineKind::Grant(PoolKind::Purchased));
    assert_eq!((line.amount, line.reference), (credits(30), Some(grant.reference.clone())));
    for other in [
        NewGrant { amount: credits(31), ..grant.clone() },
        NewGrant { pool: PoolKind::Monthly, ..grant.clone() },
    ] {
        let refused = store.org(org).grant(other).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    let elsewhere = with_credits(store, 2, Place::TopLevel, 0).await;
    store.org(elsewhere).grant(grant).await.expect("each org has its own references");

    // Only one of the two fits; the repeat is known for what it is.
    let held = reservation(20);
    for _ in 0..2 {
        store.org(org).reserve(held).await.unwrap();
        assert_eq!(available(store, org).await, 10);
    }
    let others = [
        NewReservation { amount: credits(1), ..held },
        NewReservation { amount: credits(40), ..held },
        NewReservation { budget_owner: AgentId::from_u128(99), ..held },
    ];
    for other in others {
        let refused = store.org(org).reserve(other).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    for total in [25, 25, 7, 0] {
        store.org(org).top_up(held.id, credits(total), MINUTE).await.unwrap();
        assert_eq!(available(store, org).await, 5);
    }
    settle(store, org, held.id, 25).await;
    let refused = store.org(org).reserve(NewReservation { amount: credits(25), ..held }).await;
    assert!(
        matches!(refused, Err(StoreError::Conflict(_) | StoreError::Credits(_))),
        "{refused:?}"
    );
    adds_up(store, 2).await;
}

on_every_backend!(
    /// The same grant from many at once is one.
    the_same_grant_at_once_is_one
);
async fn the_same_grant_at_once_is_one(store: &Store) {
    let org = with_credits(store, 1, Place::TopLevel, 0).await;
    let grant = bought(7);
    let all: Vec<_> = (0..20)
        .map(|_| {
            let (store, grant) = (store.clone(), grant.clone());
            tokio::spawn(async move { store.org(org).grant(grant).await.unwrap() })
        })
        .collect();
    for one in all {
        one.await.unwrap();
    }
    assert_eq!(available(store, org).await, 7);
    adds_up(store, 1).await;
}

on_every_backend!(
    /// Amounts that would not fit the database's numbers are refused.
    absurd_amounts_are_refused
);
async fn absurd_amounts_are_refused(store: &Store) {
    let org = with_credits(store, 1, Place::TopLevel, 10).await;
    let rich = with_org(store, 2).await;
    store
        .org(rich)
        .update_org(Org { plan: Plan::Enterprise, ..crate::world::org(2) })
        .await
        .unwrap();
    let held = reservation(5);
    store.org(org).reserve(held).await.unwrap();
    let most = Credits::MOST_AT_ONCE.get();
    for absurd in [most + 1, u64::MAX] {
        for refused in [
            store.org(org).grant(bought(absurd)).await,
            store.org(rich).reserve(reservation(absurd)).await.map(|_| ()),
            store.org(org).top_up(held.id, credits(absurd), MINUTE).await,
            late_charge(store, org, held, absurd).await,
        ] {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, StoreError::TooManyCredits { .. }), "{refused}");
        }
    }
    let refused = loop {
        match store.org(org).grant(bought(most)).await {
            Ok(()) => {}
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused, StoreError::TooManyCredits { .. }), "{refused}");
    assert!(available(store, org).await < i64::MAX as u64);
    let unmetered = store.org(org).grant(NewGrant { pool: PoolKind::Unmetered, ..bought(1) }).await;
    assert!(matches!(unmetered, Err(StoreError::NotFound(_))), "{unmetered:?}");
    let long = store.org(org).grant(NewGrant { reference: "x".repeat(201), ..bought(1) }).await;
    assert!(matches!(long, Err(StoreError::TooLarge { .. })), "{long:?}");
    store.apply_settlements().await.unwrap();
    assert!(store.check_ledger().await.unwrap().wrong.is_empty());
}

/// A turn that says that it cost this much.
async fn late_charge(
    store: &Store,
    payer: ostler_domain::id::OrgId,
    held: NewReservation,
    amount: u64,
) -> Result<(), StoreError> {
    accept(store, payer, "rosa", &amount.to_string()).await;
    let claimed = claim(store).await.unwrap();
    let mut commit = turn(&claimed);
    let charges = vec![model(amount)];
    commit.settle = vec![Settle { payer, reservation: held.id, budget_owner: GIA, charges }];
    let refused = store.commit_turn(commit).await.map(|_| ());
    store.commit_turn(turn(&claimed)).await.expect("it can be committed without");
    refused
}

/// A plan that changes while somebody waits for the account counts for them.
#[tokio::test(flavor = "multi_thread")]
async fn a_period_starts_under_the_plan_of_now() {
    let backend = Backend::postgres().await;
    let store = backend.migrated().await;
    let expected = with_org(&store, 2).await;
    let expected = available(&store, expected).await;
    let id = org(1).id;
    store.create_org(Org { plan: Plan::Free, ..org(1) }).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&backend.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let (key, data) = (backend.id(1), serde_json::to_string(&org(1)).unwrap());
    let change = format!(
        "SET ostler.scope = 'all'; BEGIN;
         SELECT 1 FROM credit_accounts WHERE org = {key} FOR UPDATE;
         UPDATE orgs SET data = '{data}' WHERE id = {key}"
    );
    client.batch_execute(&change).await.unwrap();
    let waits = {
        let store = store.clone();
        tokio::spawn(async move { store.org(id).reserve(reservation(1)).await })
    };
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert!(!waits.is_finished());
    client.batch_execute("COMMIT").await.unwrap();
    waits.await.unwrap().unwrap();
    assert_eq!(available(&store, id).await, expected - 1);
}
