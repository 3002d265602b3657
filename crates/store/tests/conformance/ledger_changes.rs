//! Credits while the parent or the plan changes, with repeated requests and
//! with many unapplied settlements.

use ostler_domain::id::AgentId;
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::ReserveError;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::{Org, OrgPlace};
use ostler_store::{LedgerLineKind, NewGrant, NewReservation, Store, StoreError, TurnCharges};
use tokio_postgres::NoTls;

use crate::ledger::{
    GIA, MINUTE, assert_balanced, available, bought, credits, model, reservation, settle,
    with_credits,
};
use crate::on_every_backend;
use crate::support::{TestDatabase, accept, claim, org, turn, with_org};

/// More settlements than one transaction applies.
const MANY: u64 = 520;

on_every_backend!(
    /// Z05: when a child leaves or changes its agency while turns hold the agency's
    /// credits, they return to the agency that they came from.
    z05_credits_return_to_the_payer_after_a_child_changes_its_parent
);
async fn z05_credits_return_to_the_payer_after_a_child_changes_its_parent(store: &Store) {
    let old = with_credits(store, 1, OrgPlace::TopLevel, 50).await;
    let new = with_credits(store, 2, OrgPlace::TopLevel, 50).await;
    let child = with_credits(store, 3, OrgPlace::SubOrg { parent: old }, 0).await;
    let turns = [reservation(10), reservation(10), reservation(10)];
    for held in turns {
        store.org(child).reserve_credits(held).await.unwrap();
    }
    let moved = |place| Org { plan: LicencePlan::Free, place, ..org(3) };
    store.org(child).update_org(moved(OrgPlace::SubOrg { parent: new })).await.unwrap();
    store.org(child).top_up_reservation(turns[0].id, credits(15), MINUTE).await.unwrap();
    assert_eq!((available(store, old).await, available(store, new).await), (20, 45));
    settle(store, child, turns[0].id, 12).await;
    store.apply_settlements().await.unwrap();
    assert_eq!((available(store, old).await, available(store, new).await), (20, 48));
    store.org(child).update_org(moved(OrgPlace::TopLevel)).await.unwrap();
    settle(store, child, turns[1].id, 4).await;
    assert_eq!(available(store, child).await, 0);
    store.org(child).release_reservation(turns[2].id).await.unwrap();
    assert_eq!((available(store, old).await, available(store, new).await), (36, 48));
    assert_balanced(store, 3).await;
}

on_every_backend!(
    /// Z05: credits held by settled turns are available again, however many there
    /// are, for the org's own pools, its parent's and the caps.
    z05_unapplied_settlements_do_not_cause_refusals
);
async fn z05_unapplied_settlements_do_not_cause_refusals(store: &Store) {
    let parent = with_credits(store, 1, OrgPlace::TopLevel, MANY).await;
    let child = with_credits(store, 2, OrgPlace::SubOrg { parent }, 0).await;
    for _ in 0..MANY {
        let held = reservation(1);
        store.org(parent).reserve_credits(held).await.unwrap();
        settle(store, parent, held.id, 0).await;
    }
    let only = SharingPolicy { max_per_child: credits(20), ..SharingPolicy::default() };
    store.org(parent).set_sharing(only).await.unwrap();
    let held = reservation(20);
    store.org(child).reserve_credits(held).await.expect("the parent's credits are free");
    settle(store, child, held.id, 0).await;
    store.org(child).reserve_credits(reservation(20)).await.expect("the cap is not reached");
    store.org(parent).reserve_credits(reservation(MANY - 20)).await.expect("they are free");
    assert_balanced(store, 2).await;
}

/// Settlements applied before a refusal stay applied, so that a repeat is cheap.
#[tokio::test(flavor = "multi_thread")]
async fn settlements_stay_applied_after_a_refused_reservation() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = with_credits(&store, 1, OrgPlace::TopLevel, 5).await;
        let held = reservation(5);
        store.org(org).reserve_credits(held).await.unwrap();
        settle(&store, org, held.id, 2).await;
        let refused = store.org(org).reserve_credits(reservation(4)).await;
        let Err(StoreError::Credits(ReserveError::Exhausted { available, .. })) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(available, credits(3));
        assert_eq!(backend.count("reservations").await, 0);
    }
}

/// Broken rows of one org are reported and do not affect other orgs.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_in_one_org_does_not_stop_the_others() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let mut ended = Vec::new();
        for id in [1, 2] {
            let org = with_credits(&store, id, OrgPlace::TopLevel, 10).await;
            let (over, orphan) = (reservation(3), reservation(4));
            store.org(org).reserve_credits(over).await.unwrap();
            let orphan = NewReservation { ttl: std::time::Duration::ZERO, ..orphan };
            store.org(org).reserve_credits(orphan).await.unwrap();
            settle(&store, org, over.id, 1).await;
            ended.push((org, orphan.id));
        }
        let bad = backend.id_literal(1);
        backend.execute(&format!("UPDATE reservations SET data = '?' WHERE org = {bad}")).await;
        let failed = store.apply_settlements().await;
        assert!(matches!(failed, Err(StoreError::CorruptValue { .. })), "{failed:?}");
        let failed = store.sweep_reservations().await;
        assert!(matches!(failed, Err(StoreError::CorruptValue { .. })), "{failed:?}");
        let good = backend.id_literal(2);
        assert_eq!(backend.count(&format!("reservations WHERE org = {good}")).await, 0);
        assert_eq!(backend.count("reservations").await, 2);
        assert_eq!(available(&store, ended[1].0).await, 9);
    }
}

on_every_backend!(
    /// Z05: a repeated grant or reservation has the effect of one.
    z05_repeated_grants_and_reservations_move_no_credits
);
async fn z05_repeated_grants_and_reservations_move_no_credits(store: &Store) {
    let org = with_credits(store, 1, OrgPlace::TopLevel, 0).await;
    let grant = bought(30);
    for _ in 0..3 {
        store.org(org).grant_credits(grant.clone()).await.unwrap();
    }
    assert_eq!(available(store, org).await, 30);
    let line = store.org(org).ledger_lines(None, 1).await.unwrap().remove(0);
    assert_eq!(line.kind, LedgerLineKind::Grant(PoolKind::Purchased));
    assert_eq!((line.amount, line.reference), (credits(30), Some(grant.reference.clone())));
    for other in [
        NewGrant { amount: credits(31), ..grant.clone() },
        NewGrant { pool: PoolKind::Monthly, ..grant.clone() },
    ] {
        let refused = store.org(org).grant_credits(other).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    let elsewhere = with_credits(store, 2, OrgPlace::TopLevel, 0).await;
    store.org(elsewhere).grant_credits(grant).await.expect("each org has its own references");

    // Only one of the two fits; the repeat is recognized.
    let held = reservation(20);
    for _ in 0..2 {
        store.org(org).reserve_credits(held).await.unwrap();
        assert_eq!(available(store, org).await, 10);
    }
    let others = [
        NewReservation { amount: credits(1), ..held },
        NewReservation { amount: credits(40), ..held },
        NewReservation { budget_owner: AgentId::from_u128(99), ..held },
    ];
    for other in others {
        let refused = store.org(org).reserve_credits(other).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    for total in [25, 25, 7, 0] {
        store.org(org).top_up_reservation(held.id, credits(total), MINUTE).await.unwrap();
        assert_eq!(available(store, org).await, 5);
    }
    settle(store, org, held.id, 25).await;
    let refused =
        store.org(org).reserve_credits(NewReservation { amount: credits(25), ..held }).await;
    assert!(
        matches!(refused, Err(StoreError::Conflict(_) | StoreError::Credits(_))),
        "{refused:?}"
    );
    assert_balanced(store, 2).await;
}

on_every_backend!(
    /// The same grant from many callers at once counts once.
    concurrent_repeats_of_a_grant_count_once
);
async fn concurrent_repeats_of_a_grant_count_once(store: &Store) {
    let org = with_credits(store, 1, OrgPlace::TopLevel, 0).await;
    let grant = bought(7);
    let all: Vec<_> = (0..20)
        .map(|_| {
            let (store, grant) = (store.clone(), grant.clone());
            tokio::spawn(async move { store.org(org).grant_credits(grant).await.unwrap() })
        })
        .collect();
    for one in all {
        one.await.unwrap();
    }
    assert_eq!(available(store, org).await, 7);
    assert_balanced(store, 1).await;
}

on_every_backend!(
    /// Amounts that the database's integers cannot hold are refused.
    amounts_beyond_the_limits_are_refused
);
async fn amounts_beyond_the_limits_are_refused(store: &Store) {
    let org = with_credits(store, 1, OrgPlace::TopLevel, 10).await;
    let rich = with_org(store, 2).await;
    store
        .org(rich)
        .update_org(Org { plan: LicencePlan::Enterprise, ..crate::support::org(2) })
        .await
        .unwrap();
    let held = reservation(5);
    store.org(org).reserve_credits(held).await.unwrap();
    let most = Credits::MAX_AMOUNT.get();
    for absurd in [most + 1, u64::MAX] {
        for refused in [
            store.org(org).grant_credits(bought(absurd)).await,
            store.org(rich).reserve_credits(reservation(absurd)).await.map(|_| ()),
            store.org(org).top_up_reservation(held.id, credits(absurd), MINUTE).await,
            late_charge(store, org, held, absurd).await,
        ] {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, StoreError::TooManyCredits { .. }), "{refused}");
        }
    }
    let refused = loop {
        match store.org(org).grant_credits(bought(most)).await {
            Ok(()) => {}
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused, StoreError::TooManyCredits { .. }), "{refused}");
    assert!(available(store, org).await < i64::MAX as u64);
    let unmetered =
        store.org(org).grant_credits(NewGrant { pool: PoolKind::Unmetered, ..bought(1) }).await;
    assert!(matches!(unmetered, Err(StoreError::NotFound(_))), "{unmetered:?}");
    let long =
        store.org(org).grant_credits(NewGrant { reference: "x".repeat(201), ..bought(1) }).await;
    assert!(matches!(long, Err(StoreError::TooLarge { .. })), "{long:?}");
    store.apply_settlements().await.unwrap();
    assert!(store.check_ledger().await.unwrap().mismatches.is_empty());
}

/// Commits a turn that reports this cost.
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
    commit.charges = vec![TurnCharges { payer, reservation: held.id, budget_owner: GIA, charges }];
    let refused = store.commit_turn(&commit).await.map(|_| ());
    store.commit_turn(&turn(&claimed)).await.expect("it can be committed without");
    refused
}

/// A plan that changes while a caller waits for the account applies to that caller.
#[tokio::test(flavor = "multi_thread")]
async fn a_period_starts_under_the_current_plan() {
    let backend = TestDatabase::postgres().await;
    let store = backend.migrated().await;
    let expected = with_org(&store, 2).await;
    let expected = available(&store, expected).await;
    let id = org(1).id;
    store.create_org(Org { plan: LicencePlan::Free, ..org(1) }).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&backend.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let (key, data) = (backend.id_literal(1), serde_json::to_string(&org(1)).unwrap());
    let change = format!(
        "SET ostler.scope = 'all'; BEGIN;
         SELECT 1 FROM credit_accounts WHERE org = {key} FOR UPDATE;
         UPDATE orgs SET data = '{data}' WHERE id = {key}"
    );
    client.batch_execute(&change).await.unwrap();
    let waits = {
        let store = store.clone();
        tokio::spawn(async move { store.org(id).reserve_credits(reservation(1)).await })
    };
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert!(!waits.is_finished());
    client.batch_execute("COMMIT").await.unwrap();
    waits.await.unwrap().unwrap();
    assert_eq!(available(&store, id).await, expected - 1);
}
