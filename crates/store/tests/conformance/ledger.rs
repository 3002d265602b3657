//! Credits: balances are never overdrawn and every credit is accounted for.

use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Charge, CostBearer, Expense, ReserveError};
use ostler_domain::money::pools::PoolKind;
use ostler_domain::money::sharing::{CapReached, SharingPolicy};
use ostler_domain::notice::{LowCredits, NoticeKind, NoticeRecipient};
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolName;
use ostler_store::{
    LedgerCheck, LedgerLineKind, NewGrant, NewReservation, Store, StoreError, TurnCharges,
};

use crate::on_every_backend;
use crate::support::{TestDatabase, accept, claim, next, org, turn, with_org};

pub(crate) const GIA: AgentId = AgentId::from_u128(4);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

pub(crate) fn credits(n: u64) -> Credits {
    Credits::new(n)
}

/// An org whose only credits are this many purchased ones.
pub(crate) async fn with_credits(store: &Store, id: u128, place: OrgPlace, amount: u64) -> OrgId {
    store.create_org(Org { plan: LicencePlan::Free, place, ..org(id) }).await.unwrap();
    let id = OrgId::from_u128(id);
    let daily = store.org(id).credit_account().await.unwrap().available().unwrap();
    let spare = reservation(daily.get());
    store.org(id).reserve_credits(spare).await.unwrap();
    settle(store, id, spare.id, daily.get()).await;
    store.org(id).grant_credits(bought(amount)).await.unwrap();
    assert_eq!(available(store, id).await, amount);
    id
}

/// A grant of purchased credits with a new reference.
pub(crate) fn bought(amount: u64) -> NewGrant {
    let reference = format!("payment {}", next());
    NewGrant { reference, pool: PoolKind::Purchased, amount: credits(amount) }
}

pub(crate) fn reservation(amount: u64) -> NewReservation {
    let id = ReservationId::from_u128(next());
    NewReservation { id, budget_owner: GIA, amount: credits(amount), ttl: MINUTE }
}

pub(crate) fn model(amount: u64) -> Charge {
    Charge { expense: Expense::Model, amount: credits(amount) }
}

/// Settles a reservation in the commit of a turn.
pub(crate) async fn settle(store: &Store, payer: OrgId, reservation: ReservationId, amount: u64) {
    let person = next().to_string();
    accept(store, payer, &person, &person).await;
    let claimed = loop {
        if let Some(claimed) = claim(store).await {
            break claimed;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let mut commit = turn(&claimed);
    let charges = vec![model(amount)];
    commit.charges = vec![TurnCharges { payer, reservation, budget_owner: GIA, charges }];
    store.commit_turn(&commit).await.unwrap();
}

pub(crate) async fn available(store: &Store, org: OrgId) -> u64 {
    store.org(org).credit_account().await.unwrap().available().unwrap().get()
}

/// Asserts that there are this many accounts and that each matches the ledger.
pub(crate) async fn assert_balanced(store: &Store, accounts: u64) {
    let check = store.check_ledger().await.unwrap();
    assert_eq!(check, LedgerCheck { accounts, mismatches: vec![] });
}

on_every_backend!(
    /// E01, E11: model and tool cost are ledger entries of the org, attributed to
    /// the agent.
    e01_model_and_tool_cost_are_ledger_entries_of_the_org
);
async fn e01_model_and_tool_cost_are_ledger_entries_of_the_org(store: &Store) {
    let org = with_credits(store, 1, OrgPlace::TopLevel, 20).await;
    let held = reservation(10);
    store.org(org).reserve_credits(held).await.unwrap();
    assert_eq!(available(store, org).await, 10);
    accept(store, org, "rosa", "m1").await;
    let mut commit = turn(&claim(store).await.unwrap());
    let tool = Expense::Tool(ToolName::from_static("create_booking"));
    let charges = vec![model(3), Charge { expense: tool.clone(), amount: credits(2) }];
    commit.charges =
        vec![TurnCharges { payer: org, reservation: held.id, budget_owner: GIA, charges }];
    store.commit_turn(&commit).await.unwrap();
    let lines = store.org(org).ledger_lines(None, 2).await.unwrap();
    let said: Vec<_> = lines
        .iter()
        .map(|line| match &line.kind {
            LedgerLineKind::Expense(entry) => (&entry.expense, entry.amount.get(), entry.bearer),
            LedgerLineKind::Grant(_) => panic!("{line:?}"),
        })
        .collect();
    assert_eq!(said, [(&tool, 2, CostBearer::Own), (&Expense::Model, 3, CostBearer::Own)]);
    assert_eq!(available(store, org).await, 15);
    let older = store.org(org).ledger_lines(Some(lines[1].id), 10).await.unwrap();
    assert!(older.iter().any(|line| line.kind == LedgerLineKind::Grant(PoolKind::Purchased)));
    // The daily credits of the plan were spent before.
    let all = store.org(org).spent_since(GIA, Timestamp::from_millis(0)).await.unwrap();
    let later = Timestamp::from_millis(lines[0].at.as_millis() + 1);
    assert_eq!(all.get(), 5 + 5);
    assert_eq!(store.org(org).spent_since(GIA, later).await.unwrap().get(), 0);
    assert_balanced(store, 1).await;
}

on_every_backend!(
    /// E14: of 100 concurrent reservations on a balance of 50, 50 succeed.
    e14_concurrent_reservations_do_not_exceed_the_balance
);
async fn e14_concurrent_reservations_do_not_exceed_the_balance(store: &Store) {
    let org = with_credits(store, 1, OrgPlace::TopLevel, 50).await;
    let spenders: Vec<_> = (0..100)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(
                async move { store.org(org).reserve_credits(reservation(1)).await.is_ok() },
            )
        })
        .collect();
    let mut paid = 0;
    for spender in spenders {
        paid += u32::from(spender.await.unwrap());
    }
    assert_eq!((paid, available(store, org).await), (50, 0));
    assert_balanced(store, 1).await;
}

on_every_backend!(
    /// E04, E05, E06: the parent pays what the child cannot, within the caps, and
    /// both ledgers record it.
    e04_the_parent_pays_what_the_child_cannot
);
async fn e04_the_parent_pays_what_the_child_cannot(store: &Store) {
    let parent = with_credits(store, 1, OrgPlace::TopLevel, 1000).await;
    let child = with_credits(store, 2, OrgPlace::SubOrg { parent }, 4).await;
    let held = reservation(10);
    store.org(child).reserve_credits(held).await.unwrap();
    assert_eq!((available(store, parent).await, available(store, child).await), (994, 0));
    settle(store, child, held.id, 8).await;
    let bearer = |lines: &[ostler_store::LedgerLine]| match &lines[0].kind {
        LedgerLineKind::Expense(entry) => (entry.bearer, entry.amount.get()),
        LedgerLineKind::Grant(_) => panic!("{lines:?}"),
    };
    let lines = store.org(child).ledger_lines(None, 1).await.unwrap();
    assert_eq!(bearer(&lines), (CostBearer::PaidByParent(parent), 4));
    let lines = store.org(parent).ledger_lines(None, 1).await.unwrap();
    assert_eq!(bearer(&lines), (CostBearer::ForChild(child), 4));
    assert_eq!(available(store, parent).await, 996);
    assert_eq!(store.org(child).affordable().await.unwrap(), Some(credits(96)));
    let refused = store.org(child).reserve_credits(reservation(97)).await;
    let Err(StoreError::Credits(ReserveError::Cap(cap))) = refused else { panic!("{refused:?}") };
    assert_eq!(cap, CapReached::Child { cap: credits(100), used: credits(4) });
    let total = SharingPolicy { max_total: credits(50), ..SharingPolicy::default() };
    store.org(parent).set_sharing(total).await.unwrap();
    let refused = store.org(child).reserve_credits(reservation(50)).await;
    let Err(StoreError::Credits(ReserveError::Cap(cap))) = refused else { panic!("{refused:?}") };
    assert_eq!(cap, CapReached::Total { cap: credits(50), used: credits(4) });
    assert_balanced(store, 2).await;
}

on_every_backend!(
    /// E05, Z05: a thousand concurrent turns of children never exceed a cap.
    z05_concurrent_spending_of_children_never_exceeds_a_cap
);
async fn z05_concurrent_spending_of_children_never_exceeds_a_cap(store: &Store) {
    let parent = with_credits(store, 1, OrgPlace::TopLevel, 1000).await;
    let policy = SharingPolicy {
        max_per_child: credits(20),
        max_total: credits(30),
        ..SharingPolicy::default()
    };
    store.org(parent).set_sharing(policy).await.unwrap();
    let mut children = Vec::new();
    for id in [2, 3] {
        children.push(with_credits(store, id, OrgPlace::SubOrg { parent }, 0).await);
    }
    let spenders: Vec<_> = (0..1000)
        .map(|n| {
            let (store, child) = (store.clone(), children[n % 2]);
            tokio::spawn(async move {
                (child, store.org(child).reserve_credits(reservation(1)).await.is_ok())
            })
        })
        .collect();
    let mut paid = [0, 0];
    for spender in spenders {
        let (child, ok) = spender.await.unwrap();
        paid[usize::from(child == children[1])] += u64::from(ok);
    }
    assert!(paid.iter().all(|&paid| paid <= 20), "{paid:?}");
    assert_eq!(paid.iter().sum::<u64>(), 30, "{paid:?}");
    assert_eq!(available(store, parent).await, 970);
    assert_balanced(store, 3).await;
}

on_every_backend!(
    /// Z05: 1,000 concurrent spenders that settle, release or abandon their
    /// reservations never overdraw, and the sweeper releases what was abandoned.
    z05_a_thousand_concurrent_spenders_never_overdraw
);
async fn z05_a_thousand_concurrent_spenders_never_overdraw(store: &Store) {
    let org = with_credits(store, 1, OrgPlace::TopLevel, 1500).await;
    let spenders: Vec<_> = (0..1000_u64)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let lasts = if n % 4 == 3 { Duration::ZERO } else { MINUTE };
                let held = NewReservation { ttl: lasts, ..reservation(1 + n % 5) };
                match store.org(org).reserve_credits(held).await {
                    Err(StoreError::Credits(ReserveError::Exhausted { .. })) => return 0,
                    other => other.map(|_| ()).unwrap(),
                }
                match n % 4 {
                    0 => {
                        store.org(org).release_reservation(held.id).await.unwrap();
                        0
                    }
                    1 => {
                        let total = held.amount + credits(2);
                        let more = store.org(org).top_up_reservation(held.id, total, MINUTE).await;
                        settle(&store, org, held.id, 1 + n % 5).await;
                        drop(more);
                        1 + n % 5
                    }
                    2 => {
                        settle(&store, org, held.id, 1).await;
                        1
                    }
                    _ => 0,
                }
            })
        })
        .collect();
    let mut spent = 0;
    for spender in spenders {
        spent += spender.await.unwrap();
    }
    assert!(spent <= 1500, "{spent}");
    assert_balanced(store, 1).await;
    while !store.sweep_reservations().await.unwrap().is_empty() {}
    store.apply_settlements().await.unwrap();
    assert_eq!(available(store, org).await, 1500 - spent);
    assert_balanced(store, 1).await;
}

on_every_backend!(
    /// Z05: an expired reservation is released, and a cost that its turn reports
    /// afterwards is borne by the platform.
    z05_an_expired_reservation_is_swept_and_its_late_cost_is_an_overrun
);
async fn z05_an_expired_reservation_is_swept_and_its_late_cost_is_an_overrun(store: &Store) {
    let org = with_credits(store, 1, OrgPlace::TopLevel, 10).await;
    let (orphan, busy) = (reservation(4), reservation(3));
    store.org(org).reserve_credits(NewReservation { ttl: Duration::ZERO, ..orphan }).await.unwrap();
    store.org(org).reserve_credits(busy).await.unwrap();
    assert_eq!(store.sweep_reservations().await.unwrap(), [(org, orphan.id)]);
    assert_eq!(available(store, org).await, 7);
    let over = store.org(org).top_up_reservation(orphan.id, credits(1), MINUTE).await;
    assert!(matches!(over, Err(StoreError::Credits(ReserveError::NotOpen(_)))), "{over:?}");
    settle(store, org, orphan.id, 4).await;
    assert_eq!(available(store, org).await, 7);
    let lines = store.org(org).ledger_lines(None, 1).await.unwrap();
    assert!(
        matches!(&lines[0].kind, LedgerLineKind::Expense(entry) if entry.bearer == CostBearer::Overrun),
        "{lines:?}"
    );
    assert_balanced(store, 1).await;
}

on_every_backend!(
    /// Z05: a reservation that its turn extends while the sweep is under way stays open: what
    /// was found expired is looked at again before it is released.
    z05_a_reservation_extended_during_a_sweep_is_kept
);
async fn z05_a_reservation_extended_during_a_sweep_is_kept(store: &Store) {
    const COUNT: usize = 60;
    let org = with_credits(store, 1, OrgPlace::TopLevel, 1000).await;
    let mut held = Vec::new();
    for _ in 0..COUNT {
        let new = NewReservation { ttl: Duration::ZERO, ..reservation(1) };
        store.org(org).reserve_credits(new).await.unwrap();
        held.push(new.id);
    }
    let extend = async {
        let mut extended = Vec::new();
        // From the last one that the sweep reaches.
        for id in held.iter().rev() {
            match store.org(org).top_up_reservation(*id, credits(1), MINUTE).await {
                Ok(_) => extended.push(*id),
                Err(StoreError::Credits(ReserveError::NotOpen(_))) => {}
                Err(other) => panic!("{other}"),
            }
        }
        extended
    };
    let (swept, extended) = tokio::join!(store.sweep_reservations(), extend);
    let swept: Vec<_> = swept.unwrap().into_iter().map(|(_, id)| id).collect();
    assert_eq!(swept.len() + extended.len(), COUNT);
    for id in extended {
        store.org(org).release_reservation(id).await.expect("it is open");
    }
    assert_balanced(store, 1).await;
}

on_every_backend!(
    /// E12: a turn of one org can be paid by another org, which alone pays.
    e12_another_org_can_pay_for_a_turn
);
async fn e12_another_org_can_pay_for_a_turn(store: &Store) {
    let platform = with_credits(store, 1, OrgPlace::Platform, 10).await;
    let org = with_credits(store, 2, OrgPlace::TopLevel, 10).await;
    let held = reservation(5);
    store.org(platform).reserve_credits(held).await.unwrap();
    accept(store, org, "rosa", "m1").await;
    let mut commit = turn(&claim(store).await.unwrap());
    commit.charges = vec![TurnCharges {
        payer: platform,
        reservation: held.id,
        budget_owner: GIA,
        charges: vec![model(5)],
    }];
    store.commit_turn(&commit).await.unwrap();
    assert_eq!((available(store, platform).await, available(store, org).await), (5, 10));
    assert_balanced(store, 2).await;
}

on_every_backend!(
    /// A05: a refusal changes nothing, an id is used once, and reservations of
    /// another org are not found.
    a05_reservations_belong_to_one_org
);
async fn a05_reservations_belong_to_one_org(store: &Store) {
    let (here, there) = (
        with_credits(store, 1, OrgPlace::TopLevel, 10).await,
        with_credits(store, 2, OrgPlace::TopLevel, 10).await,
    );
    let held = reservation(6);
    store.org(here).reserve_credits(held).await.unwrap();
    let more = store.org(here).reserve_credits(reservation(5)).await;
    let said = more.unwrap_err().to_string();
    assert!(said.contains("5 credits wanted, 4 credits available"), "{said}");
    let twice =
        store.org(here).reserve_credits(NewReservation { amount: credits(1), ..held }).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))), "{twice:?}");
    for foreign in [
        store.org(there).release_reservation(held.id).await.map(|_| ()),
        store.org(there).top_up_reservation(held.id, credits(1), MINUTE).await,
    ] {
        assert!(
            matches!(foreign, Err(StoreError::Credits(ReserveError::NotOpen(_)))),
            "{foreign:?}"
        );
    }
    assert_eq!((available(store, here).await, available(store, there).await), (4, 10));
    assert_eq!(store.org(here).release_reservation(held.id).await.unwrap(), credits(6));
    assert_eq!(available(store, here).await, 10);
    assert_balanced(store, 2).await;
}

on_every_backend!(a_plan_upgrade_takes_effect_immediately);
async fn a_plan_upgrade_takes_effect_immediately(store: &Store) {
    let id = with_org(store, 1).await;
    let before = available(store, id).await;
    store.org(id).update_org(Org { plan: LicencePlan::Agency, ..org(1) }).await.unwrap();
    assert!(available(store, id).await > before);
    store.org(id).update_org(Org { plan: LicencePlan::Enterprise, ..org(1) }).await.unwrap();
    assert_eq!(store.org(id).affordable().await.unwrap(), None);
    store.org(id).reserve_credits(reservation(1_000_000)).await.unwrap();
    assert_balanced(store, 1).await;
}

/// Z05: an account that was changed outside the store is reported.
#[tokio::test(flavor = "multi_thread")]
async fn z05_an_account_that_does_not_match_the_ledger_is_reported() {
    for backend in [TestDatabase::sqlite_file(), TestDatabase::postgres().await] {
        let store = backend.migrated().await;
        let org = with_credits(&store, 1, OrgPlace::TopLevel, 10).await;
        store.org(org).reserve_credits(reservation(3)).await.unwrap();
        backend.execute("DELETE FROM reservations WHERE charges IS NULL").await;
        let check = store.check_ledger().await.unwrap();
        assert_eq!(check.mismatches.len(), 1);
        assert_eq!(check.mismatches[0].reserved, (credits(3), credits(0)));
        assert!(check.mismatches[0].pools_balance);
    }
}

on_every_backend!(
    /// The owner is notified once each at 20%, 10% and 0% of the monthly credits.
    the_owner_is_notified_once_per_low_credit_level
);
async fn the_owner_is_notified_once_per_low_credit_level(store: &Store) {
    let id = OrgId::from_u128(1);
    store.create_org(Org { plan: LicencePlan::Starter, ..org(1) }).await.unwrap();
    let spend = async |amount: u64| {
        let held = reservation(amount);
        store.org(id).reserve_credits(held).await.unwrap();
        settle(store, id, held.id, amount).await;
        store.org(id).apply_settlements().await.unwrap();
        let notices = store.org(id).unread_notices(NoticeRecipient::Owner, None, 10).await.unwrap();
        notices.into_iter().map(|stored| stored.notice.kind).collect::<Vec<_>>()
    };
    // 5 daily and 100 monthly credits.
    let level = NoticeKind::LowCredits;
    assert_eq!(spend(80).await, []);
    assert_eq!(spend(5).await, [level(LowCredits::Percent20)]);
    assert_eq!(spend(1).await, [level(LowCredits::Percent20)]);
    assert_eq!(spend(10).await.len(), 2);
    let all = [LowCredits::Percent20, LowCredits::Percent10, LowCredits::Empty]
        .map(NoticeKind::LowCredits);
    assert_eq!(spend(9).await, all);
}
