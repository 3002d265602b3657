//! The registry and delegations under concurrent use.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_domain::id::DelegationId;
use ostler_domain::queue_agent::delegation::{Delegation, DelegationRefused, DelegationStatus};
use ostler_domain::time::Timestamp;
use ostler_runtime::agents::{
    AgentPresence, AgentRecord, DelegatedWork, Delegations, MemoryDelegations, MemoryRegistry,
    Page, Placement, QueueError, Registry,
};

use crate::support::{code, name};

const NOW: Timestamp = Timestamp::from_millis(1000);

fn record(number: u64) -> AgentRecord {
    let capability = if number.is_multiple_of(2) { "Even" } else { "ODD" };
    AgentRecord {
        capabilities: [capability.into()].into(),
        ..AgentRecord::new(name(&format!("a{number:04}")), "echo", Placement::Pinned)
    }
}

/// X22: a thousand concurrent operations leave a consistent registry; case is
/// ignored, unavailable agents come last, and pages are limited.
#[tokio::test(flavor = "multi_thread")]
async fn x22_the_registry_stays_consistent() {
    let registry = Arc::new(MemoryRegistry::default());
    let tasks = (0..1000).map(|number| {
        let registry = Arc::clone(&registry);
        tokio::spawn(async move {
            let record = record(number);
            let present = [AgentPresence { name: record.name.clone(), load: number }];
            registry.register(record.clone()).await.unwrap();
            registry.renew_presence(&present, NOW + Duration::from_secs(1)).await.unwrap();
            if number % 4 == 0 {
                registry.withdraw(&record.name).await.unwrap();
            }
            if number % 10 == 9 {
                registry.remove(&record.name).await.unwrap();
            }
        })
    });
    join_all(tasks).await.into_iter().for_each(|done| done.unwrap());
    let even = registry.find_by_capability(&"eVEN".into(), NOW, 1000).await.unwrap();
    let there = even.iter().filter(|record| record.is_available(NOW)).count();
    assert_eq!((even.len(), there), (500, 250));
    assert_eq!((even[0].name.clone(), even[0].load), (name("a0002"), 2));
    assert!(even[..250].iter().all(|record| record.is_available(NOW)));
    assert_eq!(registry.find_by_capability(&"odd".into(), NOW, 1000).await.unwrap().len(), 400);
    let later = NOW + Duration::from_secs(2);
    assert!(!even[0].is_available(later), "a promise has an end");
    let (mut listed, mut page) = (0, Page::first(300));
    loop {
        let records = registry.list(page).await.unwrap();
        listed += records.len();
        let Some(last) = records.last() else { break };
        page = Page::after(last.name.clone(), 300);
    }
    assert_eq!(listed, 900);
    let moved = AgentRecord { placement: Placement::Hosted, ..record(2) };
    assert!(matches!(registry.register(moved).await, Err(QueueError::PlacementConflict(_))));
}

fn work(number: u128, due: Option<Timestamp>) -> Delegation {
    Delegation {
        id: DelegationId::from_u128(number),
        reference: code(number as u64),
        root: None,
        delegated_by: name("boss"),
        assignee: name(if number.is_multiple_of(2) { "even" } else { "odd" }),
        description: "some work".into(),
        due,
        status: DelegationStatus::Assigned,
        blocked_by: [].into(),
    }
}

/// X23: a thousand concurrent updates are stored; overdue work is due before
/// now and not complete.
#[tokio::test(flavor = "multi_thread")]
async fn x23_delegations_stay_consistent() {
    let board = Arc::new(MemoryDelegations::default());
    let tasks = (0..1000u128).map(|number| {
        let board = Arc::clone(&board);
        tokio::spawn(async move {
            let due = Timestamp::from_millis(if number < 500 { 999 } else { 1000 });
            let work = work(number, Some(due));
            board.delegate(work.clone()).await.unwrap();
            board.update(work.id, DelegationStatus::InProgress, NOW).await.unwrap();
            if number % 5 == 0 {
                board.update(work.id, DelegationStatus::Complete, NOW).await.unwrap();
            }
        })
    });
    join_all(tasks).await.into_iter().for_each(|done| done.unwrap());
    let count = async |which| board.list(which, Page::default()).await.unwrap().len();
    assert_eq!(count(DelegatedWork::All).await, 1000);
    assert_eq!(count(DelegatedWork::Of(name("even"))).await, 500);
    assert_eq!(count(DelegatedWork::OverdueAt(NOW)).await, 400);
    assert_eq!(count(DelegatedWork::Ready).await, 800);
}

/// X24: a refused change has no effect.
#[tokio::test]
async fn x24_every_delegation_status_is_reachable() {
    use DelegationStatus::{Assigned, AwaitingReview, Complete, InProgress, Overdue};
    let board = MemoryDelegations::default();
    let one = work(1, Some(Timestamp::from_millis(999)));
    board.delegate(one.clone()).await.unwrap();
    let status = async || board.get(one.id).await.unwrap().unwrap().status;
    assert_eq!(status().await, Assigned);
    let refused = board.update(one.id, Complete, NOW).await;
    let illegal =
        |error| matches!(error, QueueError::Delegation(DelegationRefused::Transition { .. }));
    assert!(refused.is_err_and(illegal));
    for next in [InProgress, AwaitingReview, Overdue, InProgress, Complete] {
        board.update(one.id, next, NOW).await.unwrap();
        assert_eq!(status().await, next);
    }
    assert!(board.update(one.id, InProgress, NOW).await.is_err_and(illegal));
}
