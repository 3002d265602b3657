//! Delegations to queue agents.

use std::collections::BTreeSet;

use ostler_domain::id::{DelegationId, OrgId};
use ostler_domain::queue_agent::delegation::{DelegationRefused, DelegationStatus as Status};
use ostler_domain::queue_agent::sla::{SlaAction, SlaPolicy};
use ostler_store::{DelegationFilter, Store, StoreError};
use tokio::task::JoinSet;

use super::{at, id, name, work};
use crate::on_every_backend;
use crate::support::{TestDatabase, with_org};

async fn list(store: &Store, org: OrgId, filter: DelegationFilter) -> Vec<u128> {
    let found = store.org(org).delegations(filter, None, 100).await.unwrap();
    found.into_iter().map(|work| work.id.as_u128()).collect()
}

async fn finish(store: &Store, org: OrgId, number: u128) -> Vec<u128> {
    let org_store = store.org(org);
    org_store.update_delegation(id(number), Status::InProgress, at(0)).await.unwrap();
    let ready = org_store.update_delegation(id(number), Status::Complete, at(0)).await.unwrap();
    ready.into_iter().map(|work| work.id.as_u128()).collect()
}

fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> DelegationRefused {
    match result {
        Err(StoreError::Delegation(refused)) => refused,
        other => panic!("{other:?}"),
    }
}

on_every_backend!(
    /// X23, X24: delegations are found by id, by assignee and when overdue; an
    /// illegal transition is refused and changes nothing.
    x23_x24_delegations_are_stored_and_illegal_transitions_are_refused
);
async fn x23_x24_delegations_are_stored_and_illegal_transitions_are_refused(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let org_store = store.org(org);
    let mut theirs = work(2, &[]);
    theirs.assignee = name("bob");
    theirs.due = None;
    for one in [work(1, &[]), theirs.clone(), work(3, &[])] {
        org_store.create_delegation(one).await.unwrap();
    }
    assert_eq!(org_store.delegation(id(2)).await.unwrap(), Some(theirs));
    assert_eq!(
        refused(org_store.create_delegation(work(1, &[])).await),
        DelegationRefused::Exists(id(1))
    );
    assert_eq!(list(store, org, DelegationFilter::All).await, [1, 2, 3]);
    assert_eq!(list(store, org, DelegationFilter::AssignedTo(name("ada"))).await, [1, 3]);
    assert_eq!(list(store, org, DelegationFilter::OverdueAt(at(1000))).await, [] as [u128; 0]);
    assert_eq!(list(store, org, DelegationFilter::OverdueAt(at(1001))).await, [1, 3]);
    let page =
        org_store.delegations(DelegationFilter::OverdueAt(at(1001)), Some(id(1)), 1).await.unwrap();
    assert_eq!(page, [work(3, &[])]);
    finish(store, org, 1).await;
    assert_eq!(list(store, org, DelegationFilter::OverdueAt(at(1001))).await, [3]);

    let back = org_store.update_delegation(id(1), Status::InProgress, at(0)).await;
    let illegal = DelegationRefused::Transition { from: Status::Complete, to: Status::InProgress };
    assert_eq!(refused(back), illegal);
    let early = org_store.update_delegation(id(3), Status::Overdue, at(1000)).await;
    assert_eq!(refused(early), DelegationRefused::NotOverdue);
    for to in [Status::Overdue, Status::InProgress, Status::AwaitingReview, Status::Complete] {
        assert_eq!(org_store.update_delegation(id(3), to, at(2000)).await.unwrap(), []);
        assert_eq!(org_store.delegation(id(3)).await.unwrap().unwrap().status, to);
    }
    assert_eq!(store.org(other).delegation(id(1)).await.unwrap(), None);
    let foreign = store.org(other).update_delegation(id(2), Status::InProgress, at(0)).await;
    assert_eq!(refused(foreign), DelegationRefused::Unknown(id(2)));
    assert!(list(store, other, DelegationFilter::All).await.is_empty());
}

on_every_backend!(
    /// X40: a delegation becomes ready with its last blocker, and completing that
    /// blocker returns it; a cycle is refused.
    x40_a_delegation_is_ready_when_all_its_blockers_are_complete
);
async fn x40_a_delegation_is_ready_when_all_its_blockers_are_complete(store: &Store) {
    let org = with_org(store, 1).await;
    let org_store = store.org(org);
    let lone = org_store.create_delegation(work(9, &[8])).await;
    assert_eq!(refused(lone), DelegationRefused::Unknown(id(8)));
    for one in [work(1, &[]), work(2, &[]), work(3, &[1, 2]), work(4, &[3])] {
        org_store.create_delegation(one).await.unwrap();
    }
    assert_eq!(list(store, org, DelegationFilter::Blocked).await, [3, 4]);
    assert_eq!(list(store, org, DelegationFilter::Ready).await, [1, 2]);
    assert_eq!(list(store, org, DelegationFilter::BlockedBy(id(1))).await, [3]);
    let early = org_store.update_delegation(id(3), Status::InProgress, at(0)).await;
    assert_eq!(refused(early), DelegationRefused::Blocked(id(1)));
    for (task, blocker) in [(1, 4), (2, 3), (1, 1)] {
        let circle = org_store.block_delegation(id(task), id(blocker)).await;
        let (task, blocker) = (id(task), id(blocker));
        assert_eq!(refused(circle), DelegationRefused::Cycle { task, blocker });
    }
    org_store.block_delegation(id(2), id(1)).await.unwrap();
    org_store.block_delegation(id(2), id(1)).await.unwrap();
    assert_eq!(finish(store, org, 1).await, [2]);
    assert_eq!(list(store, org, DelegationFilter::Ready).await, [2]);
    // A complete delegation blocks nothing.
    org_store.create_delegation(work(5, &[1])).await.unwrap();
    assert_eq!(list(store, org, DelegationFilter::Ready).await, [2, 5]);
    assert_eq!(finish(store, org, 2).await, [3]);
    let begun = org_store.update_delegation(id(3), Status::InProgress, at(0)).await.unwrap();
    assert_eq!(begun, []);
    let late = org_store.block_delegation(id(3), id(5)).await;
    let begun = DelegationRefused::Transition { from: Status::InProgress, to: Status::Assigned };
    assert_eq!(refused(late), begun);
    assert_eq!(list(store, org, DelegationFilter::Blocked).await, [4]);
    let known = org_store.delegation(id(2)).await.unwrap().unwrap().blocked_by;
    assert_eq!(known, [id(1)].into());
}

/// X23: of a thousand concurrent updates through two handles, each legal
/// transition is granted once.
#[tokio::test(flavor = "multi_thread")]
async fn x23_a_thousand_concurrent_updates_grant_each_transition_once() {
    for backend in TestDatabase::both().await {
        let stores = [backend.migrated().await, Store::open(&backend.url).await.unwrap()];
        let org = with_org(&stores[0], 1).await;
        for number in 1..=50 {
            stores[0].org(org).create_delegation(work(number, &[])).await.unwrap();
        }
        let mut running = JoinSet::new();
        for n in 0..1000_u32 {
            let store = stores[(n % 2) as usize].clone();
            // Ten attempts at each of two transitions for every delegation.
            let to = if n / 500 == 0 { Status::InProgress } else { Status::Complete };
            let id = id(u128::from(n % 50) + 1);
            running.spawn(async move {
                let result = store.org(org).update_delegation(id, to, at(0)).await;
                (id, to, result)
            });
        }
        let mut granted = Vec::new();
        while let Some(done) = running.join_next().await {
            match done.unwrap() {
                (id, to, Ok(_)) => granted.push((id, to)),
                (_, _, Err(StoreError::Delegation(DelegationRefused::Transition { .. }))) => {}
                (id, to, Err(error)) => panic!("{id} to {to:?}: {error}"),
            }
        }
        let once: BTreeSet<_> = granted.iter().copied().collect();
        assert_eq!(once.len(), granted.len(), "a step was granted twice");
        for work in stores[1].org(org).delegations(DelegationFilter::All, None, 100).await.unwrap()
        {
            assert!(once.contains(&(work.id, Status::InProgress)));
            let complete = once.contains(&(work.id, Status::Complete));
            assert_eq!(work.status == Status::Complete, complete);
        }
    }
}

/// X40: of many concurrent completions of one delegation's blockers, exactly one
/// returns it as ready.
#[tokio::test(flavor = "multi_thread")]
async fn x40_concurrent_completions_unblock_a_delegation_once() {
    for backend in TestDatabase::both().await {
        let stores = [backend.migrated().await, Store::open(&backend.url).await.unwrap()];
        let org = with_org(&stores[0], 1).await;
        let org_store = stores[0].org(org);
        let blockers: Vec<u128> = (1..=40).collect();
        for number in &blockers {
            org_store.create_delegation(work(*number, &[])).await.unwrap();
            org_store.update_delegation(id(*number), Status::InProgress, at(0)).await.unwrap();
        }
        org_store.create_delegation(work(100, &blockers)).await.unwrap();
        org_store.create_delegation(work(101, &blockers[..20])).await.unwrap();
        let mut running = JoinSet::new();
        for number in blockers {
            let store = stores[(number % 2) as usize].clone();
            running.spawn(async move {
                let org_store = store.org(org);
                org_store.update_delegation(id(number), Status::Complete, at(0)).await.unwrap()
            });
        }
        let mut ready: Vec<DelegationId> = Vec::new();
        while let Some(done) = running.join_next().await {
            ready.extend(done.unwrap().into_iter().map(|work| work.id));
        }
        ready.sort();
        assert_eq!(ready, [id(100), id(101)]);
    }
}

/// X40: of two blocks that would close a cycle together, one is refused.
#[tokio::test(flavor = "multi_thread")]
async fn x40_two_concurrent_blocks_cannot_close_a_cycle() {
    for backend in TestDatabase::both().await {
        let stores = [backend.migrated().await, Store::open(&backend.url).await.unwrap()];
        let org = with_org(&stores[0], 1).await;
        for round in 0..10_u128 {
            let [a, b, c, d] = [1, 2, 3, 4].map(|n| 10 * round + n);
            for one in [work(a, &[]), work(c, &[]), work(b, &[c]), work(d, &[a])] {
                stores[0].org(org).create_delegation(one).await.unwrap();
            }
            let (left, right) = (stores[0].org(org), stores[1].org(org));
            let (one, other) = tokio::join!(
                left.block_delegation(id(a), id(b)),
                right.block_delegation(id(c), id(d))
            );
            assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
        }
    }
}

on_every_backend!(
    /// X59: the alert, each retry and the escalation are returned once, however
    /// many callers tick; complete delegations are skipped.
    x59_each_sla_action_is_returned_once
);
async fn x59_each_sla_action_is_returned_once(store: &Store) {
    let org = with_org(store, 1).await;
    for number in 1..=30 {
        store.org(org).create_delegation(work(number, &[])).await.unwrap();
    }
    finish(store, org, 30).await;
    let policy = SlaPolicy { retries: 1, retry_interval: std::time::Duration::from_millis(100) };
    let early = store.org(org).tick_delegations(policy, at(999), 10).await.unwrap();
    assert_eq!(early, []);
    let moments =
        [(1000, SlaAction::Alert), (1100, SlaAction::Retry(1)), (1200, SlaAction::Escalate)];
    for (now, expected) in moments {
        let mut running = JoinSet::new();
        for _ in 0..4 {
            let store = store.clone();
            running.spawn(async move {
                let mut got = Vec::new();
                for _ in 0..8 {
                    got.extend(store.org(org).tick_delegations(policy, at(now), 5).await.unwrap());
                }
                got
            });
        }
        let mut got = Vec::new();
        while let Some(done) = running.join_next().await {
            got.extend(done.unwrap());
        }
        assert!(got.iter().all(|(_, action)| *action == expected), "{got:?}");
        assert!(got.iter().all(|(work, _)| work.status == Status::Overdue), "{got:?}");
        let mut ids: Vec<u128> = got.iter().map(|(work, _)| work.id.as_u128()).collect();
        ids.sort_unstable();
        assert_eq!(ids, (1..=29).collect::<Vec<_>>());
    }
    let over = store.org(org).tick_delegations(policy, at(9999), 10).await.unwrap();
    assert_eq!(over, []);
}
