//! Credits: nobody overdraws, nothing leaks, every credit is accounted for.

use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Bearer, Charge, Expense, ReserveError};
use ostler_domain::money::pools::PoolKind;
use ostler_domain::money::sharing::{CapReached, SharingPolicy};
use ostler_domain::notice::{LowCredits, NoticeKind, Recipient};
use ostler_domain::org::plan::Plan;
use ostler_domain::org::{Org, Place};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolName;
use ostler_store::{LedgerCheck, LineKind, NewGrant, NewReservation, Settle, Store, StoreError};

use crate::on_every_backend;
use crate::world::{Backend, accept, claim, next, org, turn, with_org};

pub(crate) const GIA: AgentId = AgentId::from_u128(4);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

pub(crate) fn credits(n: u64) -> Credits {
    Credits::new(n)
}

/// An org without credits of its own plan, but for those that it bought.
pub(crate) async fn with_credits(store: &Store, id: u128, place: Place, amount: u64) -> OrgId {
    store.create_org(Org { plan: Plan::Free, place, ..org(id) }).await.unwrap();
    let id = OrgId::from_u128(id);
    let daily = store.org(id).account().await.unwrap().available().unwrap();
    let spare = reservation(daily.get());
    store.org(id).reserve(spare).await.unwrap();
    settle(store, id, spare.id, daily.get()).await;
    store.org(id).grant(bought(amount)).await.unwrap();
    assert_eq!(available(store, id).await, amount);
    id
}

/// Credits that were bought, each time anew.
pub(crate) fn bought(amount: u64) -> NewGrant {
    let reference = format!("payment {}", next());
    NewGrant { reference, pool: PoolKind::Purchased, amount: credits(amount) }
}

pub(crate) fn reservation(amount: u64) -> NewReservation {
    let id = ReservationId::from_u128(next());
    NewReservation { id, budget_owner: GIA, amount: credits(amount), lasts: MINUTE }
}

pub(crate) fn model(amount: u64) -> Charge {
    Charge { expense: Expense::Model, amount: credits(amount) }
}

/// Settles a reservation the way that turns do: in the commit of one.
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
    commit.settle = vec![Settle { payer, reservation, budget_owner: GIA, charges }];
    store.commit_turn(commit).await.unwrap();
}

pub(crate) async fn available(store: &Store, org: OrgId) -> u64 {
    store.org(org).account().await.unwrap().available().unwrap().get()
}

/// Every account adds up, and there are so many.
pub(crate) async fn adds_up(store: &Store, accounts: u64) {
    let check = store.check_ledger().await.unwrap();
    assert_eq!(check, LedgerCheck { accounts, wrong: vec![] });
}

on_every_backend!(
    /// E01, E11: model and tool cost are lines of the org, named for the agent.
    e01_model_and_tool_cost_are_lines_of_the_org
);
async fn e01_model_and_tool_cost_are_lines_of_the_org(store: &Store) {
    let org = with_credits(store, 1, Place::TopLevel, 20).await;
    let held = reservation(10);
    store.org(org).reserve(held).await.unwrap();
    assert_eq!(available(store, org).await, 10);
    accept(store, org, "rosa", "m1").await;
    let mut commit = turn(&claim(store).await.unwrap());
    let tool = Expense::Tool(ToolName::from_static("create_booking"));
    let charges = vec![model(3), Charge { expense: tool.clone(), amount: credits(2) }];
    commit.settle = vec![Settle { payer: org, reservation: held.id, budget_owner: GIA, charges }];
    store.commit_turn(commit).await.unwrap();
    let lines = store.org(org).ledger_lines(None, 2).await.unwrap();
    let said: Vec<_> = lines
        .iter()
        .map(|line| match &line.kind {
            LineKind::Expense(entry) => (&entry.expense, entry.amount.get(), entry.bearer),
            LineKind::Grant(_) => panic!("{line:?}"),
        })
        .collect();
    assert_eq!(said, [(&tool, 2, Bearer::Own), (&Expense::Model, 3, Bearer::Own)]);
    assert_eq!(available(store, org).await, 15);
    let older = store.org(org).ledger_lines(Some(lines[1].id), 10).await.unwrap();
    assert!(older.iter().any(|line| line.kind == LineKind::Grant(PoolKind::Purchased)));
    // What the plan grants for the day was spent before.
    let all = store.org(org).spent_since(GIA, Timestamp::from_millis(0)).await.unwrap();
    let later = Timestamp::from_millis(lines[0].at.as_millis() + 1);
    assert_eq!(all.get(), 5 + 5);
    assert_eq!(store.org(org).spent_since(GIA, later).await.unwrap().get(), 0);
    adds_up(store, 1).await;
}

on_every_backend!(
    /// E14: of 100 charges at once on a balance of 50, 50 succeed.
    e14_concurrent_charges_take_what_is_there
);
async fn e14_concurrent_charges_take_what_is_there(store: &Store) {
    let org = with_credits(store, 1, Place::TopLevel, 50).await;
    let spenders: Vec<_> = (0..100)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.org(org).reserve(reservation(1)).await.is_ok() })
        })
        .collect();
    let mut paid = 0;
    for spender in spenders {
        paid += u32::from(spender.await.unwrap());
    }
    assert_eq!((paid, available(store, org).await), (50, 0));
    adds_up(store, 1).await;
}

on_every_backend!(
    /// E04, E05, E06: what the child cannot pay its parent does, within the caps,
    /// and both ledgers say so.
    e04_the_parent_pays_what_the_child_cannot
);
async fn e04_the_parent_pays_what_the_child_cannot(store: &Store) {
    let parent = with_credits(store, 1, Place::TopLevel, 1000).await;
    let child = with_credits(store, 2, Place::SubOrg { parent }, 4).await;
    let held = reservation(10);
    store.org(child).reserve(held).await.unwrap();
    assert_eq!((available(store, parent).await, available(store, child).await), (994, 0));
    settle(store, child, held.id, 8).await;
    let bearer = |lines: &[ostler_store::LedgerLine]| match &lines[0].kind {
        LineKind::Expense(entry) => (entry.bearer, entry.amount.get()),
        LineKind::Grant(_) => panic!("{lines:?}"),
    };
    let lines = store.org(child).ledger_lines(None, 1).await.unwrap();
    assert_eq!(bearer(&lines), (Bearer::PaidByParent(parent), 4));
    let lines = store.org(parent).ledger_lines(None, 1).await.unwrap();
    assert_eq!(bearer(&lines), (Bearer::ForChild(child), 4));
    assert_eq!(available(store, parent).await, 996);
    assert_eq!(store.org(child).affordable().await.unwrap(), Some(credits(96)));
    let refused = store.org(child).reserve(reservation(97)).await;
    let Err(StoreError::Credits(ReserveError::Cap(cap))) = refused else { panic!("{refused:?}") };
    assert_eq!(cap, CapReached::Child { cap: credits(100), used: credits(4) });
    let total = SharingPolicy { max_total: credits(50), ..SharingPolicy::default() };
    store.org(parent).set_sharing(total).await.unwrap();
    let refused = store.org(child).reserve(reservation(50)).await;
    let Err(StoreError::Credits(ReserveError::Cap(cap))) = refused else { panic!("{refused:?}") };
    assert_eq!(cap, CapReached::Total { cap: credits(50), used: credits(4) });
    adds_up(store, 2).await;
}

on_every_backend!(
    /// E05, Z05: a thousand children's turns that spend at the same time never
    /// pass a cap.
    z05_children_never_pass_a_cap
);
async fn z05_children_never_pass_a_cap(store: &Store) {
    let parent = with_credits(store, 1, Place::TopLevel, 1000).await;
    let policy = SharingPolicy {
        max_per_child: credits(20),
        max_total: credits(30),
        ..SharingPolicy::default()
    };
    store.org(parent).set_sharing(policy).await.unwrap();
    let mut children = Vec::new();
    for id in [2, 3] {
        children.push(with_credits(store, id, Place::SubOrg { parent }, 0).await);
    }
    let spenders: Vec<_> = (0..1000)
        .map(|n| {
            let (store, child) = (store.clone(), children[n % 2]);
            tokio::spawn(
                async move { (child, store.org(child).reserve(reservation(1)).await.is_ok()) },
            )
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
    adds_up(store, 3).await;
}

on_every_backend!(
    /// Z05: 1,000 spenders at once, that settle, give back, or are never heard of
    /// again, overdraw nothing, and the sweeper finds what they left.
    z05_a_thousand_spenders_overdraw_nothing
);
async fn z05_a_thousand_spenders_overdraw_nothing(store: &Store) {
    let org = with_credits(store, 1, Place::TopLevel, 1500).await;
    let spenders: Vec<_> = (0..1000_u64)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let lasts = if n % 4 == 3 { Duration::ZERO } else { MINUTE };
                let held = NewReservation { lasts, ..reservation(1 + n % 5) };
                match store.org(org).reserve(held).await {
                    Err(StoreError::Credits(ReserveError::Exhausted { .. })) => return 0,
                    other => other.map(|_| ()).unwrap(),
                }
                match n % 4 {
                    0 => {
                        store.org(org).release(held.id).await.unwrap();
                        0
                    }
                    1 => {
                        let total = held.amount + credits(2);
                        let more = store.org(org).top_up(held.id, total, MINUTE).await;
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
    adds_up(store, 1).await;
    while !store.sweep_reservations().await.unwrap().is_empty() {}
    store.apply_settlements().await.unwrap();
    assert_eq!(available(store, org).await, 1500 - spent);
    adds_up(store, 1).await;
}

on_every_backend!(
    /// Z05: what a turn that never ended holds goes back once its time is over,
    /// and what such a turn then still cost is borne by the platform.
    z05_an_orphan_is_swept_and_its_late_cost_is_an_overrun
);
async fn z05_an_orphan_is_swept_and_its_late_cost_is_an_overrun(store: &Store) {
    let org = with_credits(store, 1, Place::TopLevel, 10).await;
    let (orphan, busy) = (reservation(4), reservation(3));
    store.org(org).reserve(NewReservation { lasts: Duration::ZERO, ..orphan }).await.unwrap();
    store.org(org).reserve(busy).await.unwrap();
    assert_eq!(store.sweep_reservations().await.unwrap(), [(org, orphan.id)]);
    assert_eq!(available(store, org).await, 7);
    let over = store.org(org).top_up(orphan.id, credits(1), MINUTE).await;
    assert!(matches!(over, Err(StoreError::Credits(ReserveError::NotOpen(_)))), "{over:?}");
    settle(store, org, orphan.id, 4).await;
    assert_eq!(available(store, org).await, 7);
    let lines = store.org(org).ledger_lines(None, 1).await.unwrap();
    assert!(
        matches!(&lines[0].kind, LineKind::Expense(entry) if entry.bearer == Bearer::Overrun),
        "{lines:?}"
    );
    adds_up(store, 1).await;
}

on_every_backend!(
    /// E12: a turn of one org can be paid by another, and only that one pays.
    e12_another_org_can_pay_for_a_turn
);
async fn e12_another_org_can_pay_for_a_turn(store: &Store) {
    let platform = with_credits(store, 1, Place::Platform, 10).await;
    let org = with_credits(store, 2, Place::TopLevel, 10).await;
    let held = reservation(5);
    store.org(platform).reserve(held).await.unwrap();
    accept(store, org, "rosa", "m1").await;
    let mut commit = turn(&claim(store).await.unwrap());
    commit.settle = vec![Settle {
        payer: platform,
        reservation: held.id,
        budget_owner: GIA,
        charges: vec![model(5)],
    }];
    store.commit_turn(commit).await.unwrap();
    assert_eq!((available(store, platform).await, available(store, org).await), (5, 10));
    adds_up(store, 2).await;
}

on_every_backend!(
    /// A refusal changes nothing, an id is used once, and foreign ones are not
    /// found.
    a05_reservations_belong_to_one_org
);
async fn a05_reservations_belong_to_one_org(store: &Store) {
    let (here, there) = (
        with_credits(store, 1, Place::TopLevel, 10).await,
        with_credits(store, 2, Place::TopLevel, 10).await,
    );
    let held = reservation(6);
    store.org(here).reserve(held).await.unwrap();
    let more = store.org(here).reserve(reservation(5)).await;
    let said = more.unwrap_err().to_string();
    assert!(said.contains("5 credits wanted, 4 credits available"), "{said}");
    let twice = store.org(here).reserve(NewReservation { amount: credits(1), ..held }).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))), "{twice:?}");
    for foreign in [
        store.org(there).release(held.id).await.map(|_| ()),
        store.org(there).top_up(held.id, credits(1), MINUTE).await,
    ] {
        assert!(
            matches!(foreign, Err(StoreError::Credits(ReserveError::NotOpen(_)))),
            "{foreign:?}"
        );
    }
    assert_eq!((available(store, here).await, available(store, there).await), (4, 10));
    assert_eq!(store.org(here).release(held.id).await.unwrap(), credits(6));
    assert_eq!(available(store, here).await, 10);
    adds_up(store, 2).await;
}

on_every_backend!(a_larger_plan_counts_at_once);
async fn a_larger_plan_counts_at_once(store: &Store) {
    let id = with_org(store, 1).await;
    let before = available(store, id).await;
    store.org(id).update_org(Org { plan: Plan::Agency, ..org(1) }).await.unwrap();
    assert!(available(store, id).await > before);
    store.org(id).update_org(Org { plan: Plan::Enterprise, ..org(1) }).await.unwrap();
    assert_eq!(store.org(id).affordable().await.unwrap(), None);
    store.org(id).reserve(reservation(1_000_000)).await.unwrap();
    adds_up(store, 1).await;
}

/// Z05: an account that was changed by another hand is found.
#[tokio::test(flavor = "multi_thread")]
async fn z05_an_account_that_does_not_add_up_is_found() {
    for backend in [Backend::sqlite_file(), Backend::postgres().await] {
        let store = backend.migrated().await;
        let org = with_credits(&store, 1, Place::TopLevel, 10).await;
        store.org(org).reserve(reservation(3)).await.unwrap();
        backend.execute("DELETE FROM reservations WHERE charges IS NULL").await;
        let check = store.check_ledger().await.unwrap();
        assert_eq!(check.wrong.len(), 1);
        assert_eq!(check.wrong[0].reserved, (credits(3), credits(0)));
        assert!(check.wrong[0].pools_balance);
    }
}

on_every_backend!(
    /// The owner is told when the monthly credits come to a fifth, to a tenth and
    /// to nothing, each once.
    low_credits_are_told_at_each_level_once
);
async fn low_credits_are_told_at_each_level_once(store: &Store) {
    let id = OrgId::from_u128(1);
    store.create_org(Org { plan: Plan::Starter, ..org(1) }).await.unwrap();
    let spend = async |amount: u64| {
        let held = reservation(amount);
        store.org(id).reserve(held).await.unwrap();
        settle(store, id, held.id, amount).await;
        store.org(id).apply_settlements().await.unwrap();
        let told = store.org(id).unread_notices(Recipient::Owner, None, 10).await.unwrap();
        told.into_iter().map(|one| one.notice.kind).collect::<Vec<_>>()
    };
    // 5 of the day and 100 of the month.
    let level = NoticeKind::LowCredits;
    assert_eq!(spend(80).await, []);
    assert_eq!(spend(5).await, [level(LowCredits::Percent20)]);
    assert_eq!(spend(1).await, [level(LowCredits::Percent20)]);
    assert_eq!(spend(10).await.len(), 2);
    let all = [LowCredits::Percent20, LowCredits::Percent10, LowCredits::Empty]
        .map(NoticeKind::LowCredits);
    assert_eq!(spend(9).await, all);
}
