//! Z05 as a property: whatever workers do concurrently with the credits of an
//! agency and its clients, no account is overdrawn and every credit is
//! accounted for.

use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::ReserveError;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::{Org, OrgPlace};
use ostler_store::{NewReservation, Store, StoreError};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::ledger::{bought, settle};
use crate::support::{TestDatabase, next, org};

/// How many cases are run by default; `OSTLER_CASES` overrides it.
const CASES: u64 = 6;
const ORGS: [u128; 3] = [1, 2, 3];

/// A worker's next operation on one of the orgs.
#[derive(Debug, Clone, Copy)]
enum Step {
    Reserve { amount: u64, orphan: bool },
    TopUp(u64),
    Settle(u64),
    Release,
    Grant(u64),
    Move,
    Sweep,
    Apply,
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let step = prop_oneof![
        4 => (0..40_u64, any::<bool>()).prop_map(|(amount, orphan)| Step::Reserve { amount, orphan }),
        1 => (0..60_u64).prop_map(Step::TopUp),
        3 => (0..50_u64).prop_map(Step::Settle),
        1 => Just(Step::Release),
        1 => (0..30_u64).prop_map(Step::Grant),
        1 => Just(Step::Move),
        1 => Just(Step::Sweep),
        1 => Just(Step::Apply),
    ];
    (0..ORGS.len(), step)
}

/// One worker, which ends only its own reservations.
async fn work(store: Store, steps: Vec<(usize, Step)>) {
    let mut open: Vec<(OrgId, ReservationId)> = Vec::new();
    for (at, step) in steps {
        let org = OrgId::from_u128(ORGS[at]);
        match step {
            Step::Reserve { amount, orphan } => {
                let lasts = Duration::from_secs(if orphan { 0 } else { 60 });
                let (id, budget_owner) = (ReservationId::from_u128(next()), AgentId::from_u128(1));
                let new =
                    NewReservation { id, budget_owner, amount: Credits::new(amount), ttl: lasts };
                if expected(store.org(org).reserve_credits(new).await.map(|_| ())) {
                    open.push((org, id));
                }
            }
            Step::TopUp(total) => {
                if let Some((org, id)) = open.last().copied() {
                    let lasts = Duration::from_secs(60);
                    expected(
                        store.org(org).top_up_reservation(id, Credits::new(total), lasts).await,
                    );
                }
            }
            Step::Settle(amount) => {
                if let Some((org, id)) = open.pop() {
                    settle(&store, org, id, amount).await;
                }
            }
            Step::Release => {
                if let Some((org, id)) = open.pop() {
                    expected(store.org(org).release_reservation(id).await.map(|_| ()));
                }
            }
            Step::Grant(amount) => {
                store.org(org).grant_credits(bought(amount)).await.unwrap();
            }
            Step::Move => {
                let mut moved = store.org(org).org().await.unwrap();
                moved.place = match moved.place {
                    OrgPlace::SubOrg { .. } => OrgPlace::TopLevel,
                    _ if moved.id == OrgId::from_u128(ORGS[0]) => OrgPlace::TopLevel,
                    _ => OrgPlace::SubOrg { parent: OrgId::from_u128(ORGS[0]) },
                };
                store.org(org).update_org(moved).await.unwrap();
            }
            Step::Sweep => drop(store.sweep_reservations().await.unwrap()),
            Step::Apply => drop(store.apply_settlements().await.unwrap()),
        }
    }
}

/// Whether the operation succeeded; it may fail only for lack of credits or
/// because the sweeper was faster.
fn expected(result: Result<(), StoreError>) -> bool {
    match result {
        Ok(()) => true,
        Err(StoreError::Credits(
            ReserveError::Exhausted { .. } | ReserveError::Cap(_) | ReserveError::NotOpen(_),
        )) => false,
        Err(other) => panic!("{other}"),
    }
}

async fn campaign(backend: &TestDatabase, runner: &mut TestRunner) {
    let store = backend.migrated().await;
    let parent = OrgId::from_u128(ORGS[0]);
    for id in ORGS {
        let place = if id == 1 { OrgPlace::TopLevel } else { OrgPlace::SubOrg { parent } };
        store.create_org(Org { place, plan: LicencePlan::Starter, ..org(id) }).await.unwrap();
    }
    let plan = vec(vec(step(), 5..25), 8).new_tree(runner).unwrap().current();
    let workers: Vec<_> =
        plan.iter().map(|steps| tokio::spawn(work(store.clone(), steps.clone()))).collect();
    for worker in workers {
        worker.await.unwrap_or_else(|error| panic!("{error} in {plan:?}"));
        let check = store.check_ledger().await.unwrap();
        assert!(check.mismatches.is_empty(), "{check:?} after {plan:?}");
    }
    store.apply_settlements().await.unwrap();
    let check = store.check_ledger().await.unwrap();
    assert!(check.mismatches.is_empty(), "{check:?} after {plan:?}");
}

fn cases() -> u64 {
    std::env::var("OSTLER_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES)
}

#[tokio::test(flavor = "multi_thread")]
async fn z05_every_credit_is_accounted_for_on_sqlite() {
    let mut runner = TestRunner::default();
    for _ in 0..cases() {
        campaign(&TestDatabase::sqlite_memory(), &mut runner).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn z05_every_credit_is_accounted_for_on_postgres() {
    let mut runner = TestRunner::default();
    for _ in 0..cases() {
        campaign(&TestDatabase::postgres().await, &mut runner).await;
    }
}
