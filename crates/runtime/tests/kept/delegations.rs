//! Work that was given.

use std::time::Duration;

use ostler_domain::dispatch::delegation::{DelegationRefused, DelegationStatus as Status};
use ostler_domain::dispatch::sla::{SlaAction, SlaPolicy};
use ostler_runtime::queue::{Delegations, Page, QueueError, Work};
use tokio::task::JoinSet;

use crate::wherever_kept;
use crate::world::{Keeper, at, id, name, work};

async fn list(delegations: &dyn Delegations, which: Work) -> Vec<u128> {
    let found = delegations.list(which, Page::default()).await.unwrap();
    found.into_iter().map(|work| work.id.as_u128()).collect()
}

fn refused<T: std::fmt::Debug>(result: Result<T, QueueError>) -> DelegationRefused {
    match result {
        Err(QueueError::Delegation(refused)) => refused,
        other => panic!("{other:?}"),
    }
}

wherever_kept!(
    /// X23, X24, X40: found by assignee and when overdue, moved as the statuses
    /// allow, and ready with the last blocker; a circle is refused.
    x23_x24_x40_work_goes_its_way
);
async fn x23_x24_x40_work_goes_its_way(keeper: Keeper) {
    let all = &*keeper.delegations;
    for one in [work(1, &[]), work(2, &[]), work(3, &[1, 2])] {
        all.delegate(one).await.unwrap();
    }
    assert_eq!(all.get(id(3)).await.unwrap(), Some(work(3, &[1, 2])));
    assert_eq!(all.get(id(9)).await.unwrap(), None);
    assert_eq!(refused(all.delegate(work(1, &[])).await), DelegationRefused::Exists(id(1)));
    assert_eq!(list(all, Work::Of(name("ada"))).await, [1, 2, 3]);
    assert_eq!(list(all, Work::Of(name("bob"))).await, [] as [u128; 0]);
    assert_eq!(list(all, Work::OverdueAt(at(1000))).await, [] as [u128; 0]);
    assert_eq!(list(all, Work::OverdueAt(at(1001))).await, [1, 2, 3]);
    assert_eq!(list(all, Work::Blocked).await, [3]);
    assert_eq!(list(all, Work::Ready).await, [1, 2]);
    assert_eq!(all.blocks(id(1)).await.unwrap(), [id(3)]);
    let page = all.list(Work::All, Page::after(id(1), 1)).await.unwrap();
    assert_eq!(page, [work(2, &[])]);

    let circle = all.block(id(1), id(3)).await;
    let (task, blocker) = (id(1), id(3));
    assert_eq!(refused(circle), DelegationRefused::Cycle { task, blocker });
    all.block(id(2), id(1)).await.unwrap();
    let early = all.update(id(2), Status::InProgress, at(0)).await;
    assert_eq!(refused(early), DelegationRefused::Blocked(id(1)));
    let skipped = all.update(id(1), Status::Complete, at(0)).await;
    let from = DelegationRefused::Transition { from: Status::Assigned, to: Status::Complete };
    assert_eq!(refused(skipped), from);
    for (one, ready) in [(1, vec![2]), (2, vec![3]), (3, vec![])] {
        assert_eq!(all.update(id(one), Status::InProgress, at(0)).await.unwrap(), []);
        let became = all.update(id(one), Status::Complete, at(0)).await.unwrap();
        let became: Vec<u128> = became.into_iter().map(|work| work.id.as_u128()).collect();
        assert_eq!(became, ready);
    }
    assert_eq!(list(all, Work::OverdueAt(at(9999))).await, [] as [u128; 0]);
}

wherever_kept!(
    /// X23: of many who take the same steps at once, each step is granted once.
    x23_steps_at_once_are_granted_once
);
async fn x23_steps_at_once_are_granted_once(keeper: Keeper) {
    for number in 1..=20 {
        keeper.delegations.delegate(work(number, &[])).await.unwrap();
    }
    keeper.delegations.delegate(work(99, &(1..=20).collect::<Vec<_>>())).await.unwrap();
    let mut running = JoinSet::new();
    for n in 0..1000_u128 {
        let delegations = keeper.delegations.clone();
        running.spawn(async move {
            let which = id(n % 20 + 1);
            let begun = delegations.update(which, Status::InProgress, at(0)).await.is_ok();
            let ended = delegations.update(which, Status::Complete, at(0)).await;
            (begun, ended.ok())
        });
    }
    let done = running.join_all().await;
    assert_eq!(done.iter().filter(|(begun, _)| *begun).count(), 20);
    let ended: Vec<_> = done.into_iter().filter_map(|(_, ended)| ended).collect();
    assert_eq!(ended.len(), 20);
    let ready: Vec<u128> = ended.into_iter().flatten().map(|work| work.id.as_u128()).collect();
    assert_eq!(ready, [99], "one is told that the rest is ready");
}

wherever_kept!(
    /// X59: the alert makes work overdue, and whatever is due comes once.
    x59_late_work_is_told_once
);
async fn x59_late_work_is_told_once(keeper: Keeper) {
    for number in 1..=3 {
        keeper.delegations.delegate(work(number, &[])).await.unwrap();
    }
    let policy = SlaPolicy { retries: 1, patience: Duration::from_millis(100) };
    let tick = async |now| {
        let mut got = Vec::new();
        for _ in 0..3 {
            let due = keeper.delegations.tick(policy, at(now), 2).await.unwrap();
            assert!(due.iter().all(|due| due.work.status == Status::Overdue), "{due:?}");
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
