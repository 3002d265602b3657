use super::{Delegation, DelegationBoard, DelegationRefused, DelegationStatus};
use crate::id::DelegationId;
use crate::reference::ReferenceCode;
use crate::time::{Timestamp, UtcDay};

use DelegationStatus::{Assigned, AwaitingReview, Complete, InProgress, Overdue};

const NOW: Timestamp = Timestamp::from_millis(100);

fn id(number: u128) -> DelegationId {
    DelegationId::from_u128(number)
}

fn work(number: u128, assignee: &str, due: Option<i64>, blocked_by: &[u128]) -> Delegation {
    Delegation {
        id: id(number),
        reference: ReferenceCode::new(UtcDay::default(), 1),
        root: None,
        delegated_by: "boss".parse().unwrap(),
        assignee: assignee.parse().unwrap(),
        description: "review the change".into(),
        due: due.map(Timestamp::from_millis),
        status: Assigned,
        blocked_by: blocked_by.iter().map(|number| id(*number)).collect(),
    }
}

fn board(works: impl IntoIterator<Item = Delegation>) -> DelegationBoard {
    let mut board = DelegationBoard::default();
    for work in works {
        board.delegate(work).unwrap();
    }
    board
}

fn ids<'a>(found: impl Iterator<Item = &'a Delegation>) -> Vec<DelegationId> {
    found.map(|work| work.id).collect()
}

/// X24: every transition that is not listed is refused.
#[test]
fn x24_a_delegation_allows_only_the_listed_transitions() {
    let allowed = [
        (Assigned, InProgress),
        (Assigned, Overdue),
        (InProgress, AwaitingReview),
        (InProgress, Complete),
        (InProgress, Overdue),
        (AwaitingReview, InProgress),
        (AwaitingReview, Complete),
        (AwaitingReview, Overdue),
        (Overdue, InProgress),
        (Overdue, AwaitingReview),
        (Overdue, Complete),
    ];
    for from in DelegationStatus::ALL {
        for to in DelegationStatus::ALL {
            let mut board = board([Delegation { status: from, ..work(1, "a", Some(50), &[]) }]);
            let result = board.update(id(1), to, NOW);
            if allowed.contains(&(from, to)) {
                assert_eq!((result, board.get(id(1)).unwrap().status), (Ok(vec![]), to));
            } else {
                assert_eq!(result, Err(DelegationRefused::Transition { from, to }));
            }
        }
    }
}

/// X23: overdue means due before now and not complete; delegations are found by
/// assignee.
#[test]
fn x23_work_is_found_by_assignee_and_when_overdue() {
    let done = Delegation { status: Complete, ..work(4, "a", Some(99), &[]) };
    let late = work(1, "a", Some(99), &[]);
    let mut board = board([late, work(2, "b", Some(100), &[]), work(3, "a", None, &[]), done]);
    assert_eq!(ids(board.assigned_to(&"a".parse().unwrap())), [id(1), id(3), id(4)]);
    assert_eq!(ids(board.overdue(NOW)), [id(1)]);
    assert_eq!(board.update(id(2), Overdue, NOW), Err(DelegationRefused::NotOverdue));
    assert_eq!(board.update(id(3), Overdue, NOW), Err(DelegationRefused::NotOverdue));
    assert_eq!(board.update(id(1), Overdue, NOW), Ok(vec![]));
    assert_eq!(board.update(id(9), Overdue, NOW), Err(DelegationRefused::Unknown(id(9))));
    assert_eq!(board.delegate(work(1, "c", None, &[])), Err(DelegationRefused::Exists(id(1))));
}

/// X40: work is ready only when all its blockers are complete, and completing the last
/// one returns it.
#[test]
fn x40_the_last_blocker_unblocks() {
    let mut board = board([work(1, "a", None, &[]), work(2, "a", None, &[])]);
    board.delegate(work(3, "b", None, &[1, 2])).unwrap();
    assert_eq!(ids(board.blocked()), [id(3)]);
    assert_eq!(ids(board.ready()), [id(1), id(2)]);
    assert_eq!(board.blocks(id(1)).collect::<Vec<_>>(), [id(3)]);
    let early = board.update(id(3), InProgress, NOW);
    assert_eq!(early, Err(DelegationRefused::Blocked(id(1))));
    for (number, unblocked) in [(1, vec![]), (2, vec![id(3)])] {
        board.update(id(number), InProgress, NOW).unwrap();
        assert_eq!(board.update(id(number), Complete, NOW), Ok(unblocked));
    }
    assert_eq!(ids(board.ready()), [id(3)]);
    assert_eq!(board.update(id(3), InProgress, NOW), Ok(vec![]));
}

/// X40: a cycle is refused, and so is a blocker that does not exist.
#[test]
fn x40_a_cycle_is_refused() {
    let mut board =
        board([work(1, "a", None, &[]), work(2, "a", None, &[1]), work(3, "a", None, &[2])]);
    for blocker in [1, 2, 3] {
        let (task, blocker) = (id(1), id(blocker));
        let refused = board.block(task, blocker);
        assert_eq!(refused, Err(DelegationRefused::Cycle { task, blocker }));
    }
    assert_eq!(board.block(id(3), id(1)), Ok(()));
    assert_eq!(board.block(id(3), id(9)), Err(DelegationRefused::Unknown(id(9))));
    let new = board.delegate(work(4, "a", None, &[8]));
    assert_eq!(new, Err(DelegationRefused::Unknown(id(8))));
    board.update(id(1), InProgress, NOW).unwrap();
    assert!(board.block(id(1), id(3)).is_err(), "what has begun does not wait");
    let stored = serde_json::to_string(&board).unwrap();
    assert_eq!(serde_json::from_str::<DelegationBoard>(&stored).unwrap(), board);
}
