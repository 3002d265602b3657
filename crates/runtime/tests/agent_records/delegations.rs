//! Delegations.

use std::time::Duration;

use ostler_domain::queue_agent::delegation::{DelegationRefused, DelegationStatus};
use ostler_domain::queue_agent::sla::{SlaAction, SlaPolicy};
use ostler_runtime::agents::{DelegatedWork, Delegations, Page, QueueError};
use tokio::task::JoinSet;

use crate::on_every_store;
use crate::support::{RecordStores, at, id, name, work};

async fn list(delegations: &dyn Delegations, which: DelegatedWork) -> Vec<u128> {
    let found = delegations.list(which, Page::default()).await.unwrap();
    found.into_iter().map(|work| work.id.as_u128()).collect()
}

fn refused<T: std::fmt::Debug>(result: Result<T, QueueError>) -> DelegationRefused {
    match result {
        Err(QueueError::Delegation(refused)) => refused,
        other => panic!("{other:?}"),
    }
}

on_every_store!(
    /// X23, X24, X40: found by assignee and when overdue, changed as the
    /// statuses allow, and ready after the last blocker; a cycle is refused.
    x23_x24_x40_delegations_follow_their_statuses_and_dependencies
);
async fn x23_x24_x40_delegations_follow_their_statuses_and_dependencies(stores: RecordStores) {
    let all = &*stores.delegations;
    for one in [work(1, &[]), work(2, &[]), work(3, &[1, 2])] {
        all.delegate(one).await.unwrap();
    }
    assert_eq!(all.get(id(3)).await.unwrap(), Some(work(3, &[1, 2])));
    assert_eq!(all.get(id(9)).await.unwrap(), None);
    assert_eq!(refused(all.delegate(work(1, &[])).await), DelegationRefused::Exists(id(1)));
    assert_eq!(list(all, DelegatedWork::Of(name("ada"))).await, [1, 2, 3]);
    assert_eq!(list(all, DelegatedWork::Of(name("bob"))).await, [] as [u128; 0]);
    assert_eq!(list(all, DelegatedWork::OverdueAt(at(1000))).await, [] as [u128; 0]);
    assert_eq!(list(all, DelegatedWork::OverdueAt(at(1001))).await, [1, 2, 3]);
    assert_eq!(list(all, DelegatedWork::Blocked).await, [3]);
    assert_eq!(list(all, DelegatedWork::Ready).await, [1, 2]);
    assert_eq!(all.blocks(id(1)).await.unwrap(), [id(3)]);
    let page = all.list(DelegatedWork::All, Page::after(id(1), 1)).await.unwrap();
    assert_eq!(page, [work(2, &[])]);

    let circle = all.block(id(1), id(3)).await;
    let (task, blocker) = (id(1), id(3));
    assert_eq!(refused(circle), DelegationRefused::Cycle { task, blocker });
    all.block(id(2), id(1)).await.unwrap();
    let early = all.update(id(2), DelegationStatus::InProgress, at(0)).await;
    assert_eq!(refused(early), DelegationRefused::Blocked(id(1)));
    let skipped = all.update(id(1), DelegationStatus::Complete, at(0)).await;
    let from = DelegationRefused::Transition {
        from: DelegationStatus::Assigned,
        to: DelegationStatus::Complete,
    };
    assert_eq!(refused(skipped), from);
    for (one, ready) in [(1, vec![2]), (2, vec![3]), (3, vec![])] {
        assert_eq!(all.update(id(one), DelegationStatus::InProgress, at(0)).await.unwrap(), []);
        let became = all.update(id(one), DelegationStatus::Complete, at(0)).await.unwrap();
        let became: Vec<u128> = became.into_iter().map(|work| work.id.as_u128()).collect();
        assert_eq!(became, ready);
    }
    assert_eq!(list(all, DelegatedWork::OverdueAt(at(9999))).await, [] as [u128; 0]);
}

on_every_store!(
    /// X23: of many concurrent callers with the same change, one succeeds.
    x23_concurrent_status_changes_are_granted_once
);
async fn x23_concurrent_status_changes_are_granted_once(stores: RecordStores) {
    for number in 1..=20 {
        stores.delegations.delegate(work(number, &[])).await.unwrap();
    }
    stores.delegations.delegate(work(99, &(1..=20).collect::<Vec<_>>())).await.unwrap();
    let mut running = JoinSet::new();
    for n in 0..1000_u128 {
        let delegations = stores.delegations.clone();
        running.spawn(async move {
            let which = id(n % 20 + 1);
            let started =
                delegations.update(which, DelegationStatus::InProgress, at(0)).await.is_ok();
            let ended = delegations.update(which, DelegationStatus::Complete, at(0)).await;
            (started, ended.ok())
        });
    }
    let done = running.join_all().await;
    assert_eq!(done.iter().filter(|(started, _)| *started).count(), 20);
    let ended: Vec<_> = done.into_iter().filter_map(|(_, ended)| ended).collect();
    assert_eq!(ended.len(), 20);
    let ready: Vec<u128> = ended.into_iter().flatten().map(|work| work.id.as_u128()).collect();
    assert_eq!(ready, [99], "one caller learns that the rest is ready");
}

on_every_store!(
    /// X59: the alert makes work overdue, and each action is returned once.
    x59_each_sla_action_is_returned_once
);
async fn x59_each_sla_action_is_returned_once(stores: RecordStores) {
    for number in 1..=3 {
        stores.delegations.delegate(work(number, &[])).await.unwrap();
    }
    let policy = SlaPolicy { retries: 1, retry_interval: Duration::from_millis(100) };
    let tick = async |now| {
        let mut got = Vec::new();
        for _ in 0..3 {
            let due = stores.delegations.advance_sla(policy, at(now), 2).await.unwrap();
            assert!(due.iter().all(|due| due.work.status == DelegationStatus::Overdue), "{due:?}");
            got.extend(due.into_iter().map(|due| (due.work.id.as_u128(), due.action)));
        }
        got.sort_by_key(|(id, _)| *id);
        got
    };
    assert_eq!(tick(999).await, []);
    for (now, action) in
        [(1000, SlaAction::Alert), (1100, SlaAction::Retry(1)), (1200, SlaAction::Escalate)]
    {
        assert_eq!(tick(now).await, [(1, action), (2, action), (3, action)]);
    }
    assert_eq!(tick(9999).await, []);
}
