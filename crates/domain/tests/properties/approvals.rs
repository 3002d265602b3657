//! Approvals: counted right, used at most once, and only when approved.

use ostler_domain::gate::AskReason;
use ostler_domain::gate::approval::{
    Approval, ApprovalError, ApprovalStatus, ArgumentsHash, pending_in,
};
use ostler_domain::id::{AgentId, ApprovalId, SessionId, UserId};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Risk, ToolName};
use proptest::prelude::*;

use crate::check;

const OWNER: UserId = UserId::from_u128(1);
const SESSIONS: [SessionId; 2] = [SessionId::from_u128(2), SessionId::from_u128(3)];

#[derive(Debug, Clone, Copy)]
enum Op {
    Approve,
    ApproveWith(u8),
    Reject,
    Expire,
    Take(u8),
}

/// What happens, to which of the approvals, and when: in no order of time,
/// because the clocks of two nodes may differ.
fn histories() -> impl Strategy<Value = Vec<(usize, Op, i64)>> {
    let op = prop_oneof![
        3 => Just(Op::Approve),
        2 => (0..3u8).prop_map(Op::ApproveWith),
        1 => Just(Op::Reject),
        2 => Just(Op::Expire),
        4 => (0..3u8).prop_map(Op::Take),
    ];
    prop::collection::vec((0..4usize, op, 0..200i64), 0..40)
}

fn lifetimes() -> impl Strategy<Value = [i64; 4]> {
    prop::array::uniform4(0..200i64)
}

/// Four approvals, two of each session in turn.
fn approvals(lifetimes: [i64; 4]) -> Vec<Approval> {
    let approval = |(n, lifetime): (usize, i64)| Approval {
        id: ApprovalId::from_u128(n as u128),
        session: SESSIONS[n % 2],
        agent: AgentId::from_u128(4),
        tool: ToolName::from_static("refund_payment"),
        risk: Risk::Destructive,
        why: AskReason::ApprovalList,
        arguments: ArgumentsHash([0; 32]),
        requested_at: Timestamp::from_millis(0),
        expires_at: Timestamp::from_millis(lifetime),
        status: ApprovalStatus::Pending,
    };
    lifetimes.into_iter().enumerate().map(approval).collect()
}

/// Where an approval must stand, followed independently.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expected {
    Pending,
    Approved(u8),
    Over,
}

/// What an operation did.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Done,
    /// The time was over, and this is the moment to tell everybody.
    JustExpired,
    Refused,
}

/// Where it must stand after an operation, and what that one does.
fn step(expected: Expected, op: Op, over: bool) -> (Expected, Outcome) {
    use Expected::{Approved, Over, Pending};
    match (expected, op) {
        (Pending, Op::Take(_)) => (Pending, Outcome::Refused),
        (Pending, _) if over => (Over, Outcome::JustExpired),
        (Pending, Op::Approve) => (Approved(0), Outcome::Done),
        (Pending, Op::ApproveWith(given)) => (Approved(given), Outcome::Done),
        (Pending, Op::Reject) => (Over, Outcome::Done),
        (Approved(given), Op::Take(used)) if given == used => (Over, Outcome::Done),
        (same, _) => (same, Outcome::Refused),
    }
}

fn act(approval: &mut Approval, op: Op, now: Timestamp) -> Outcome {
    let result = match op {
        Op::Approve => approval.approve(OWNER, now),
        Op::ApproveWith(n) => approval.approve_with(OWNER, ArgumentsHash([n; 32]), now),
        Op::Reject => approval.reject(OWNER, "no", now),
        Op::Expire if approval.expire(now) => return Outcome::JustExpired,
        Op::Expire => return Outcome::Refused,
        Op::Take(n) => approval.take(ArgumentsHash([n; 32])),
    };
    match result {
        Ok(()) => Outcome::Done,
        Err(ApprovalError::JustExpired(_)) => Outcome::JustExpired,
        Err(_) => Outcome::Refused,
    }
}

/// D06, D07, D08: after every step the pending ones of each session are
/// counted right, each call runs at most once and only as it was approved, and
/// one that was rejected, has expired or was answered too late never runs.
#[test]
fn d08_any_history_of_approvals_is_counted_and_used_right() {
    check(500, &(lifetimes(), histories()), |(lifetimes, history)| {
        let mut approvals = approvals(lifetimes);
        let mut expected = [Expected::Pending; 4];
        let mut used = [0; 4];
        for (which, op, millis) in history {
            let now = Timestamp::from_millis(millis);
            let before = approvals[which].status.clone();
            let done = act(&mut approvals[which], op, now);
            let (next, outcome) = step(expected[which], op, millis >= lifetimes[which]);
            expected[which] = next;
            prop_assert_eq!(done, outcome, "{:?} at {}", op, millis);
            if matches!(op, Op::Take(_)) && done == Outcome::Done {
                used[which] += 1;
                prop_assert_eq!(before, ApprovalStatus::Approved { by: OWNER });
            }
            prop_assert!(used[which] <= 1, "used twice");
            for (n, session) in SESSIONS.into_iter().enumerate() {
                let of_session = expected.iter().skip(n).step_by(2);
                let waiting = of_session.filter(|&&e| e == Expected::Pending).count();
                prop_assert_eq!(pending_in(session, &approvals), waiting);
            }
        }
        for (approval, used) in approvals.iter().zip(used) {
            let is_used = matches!(approval.status, ApprovalStatus::Used { .. });
            prop_assert_eq!(is_used, used == 1, "{:?}", approval.status);
        }
        Ok(())
    });
}

/// D07: whoever's approval expires is told: every expiry is announced once, to
/// the sweep or to the late answer, whichever comes first.
#[test]
fn d07_every_expiry_is_announced_once() {
    check(300, &(lifetimes(), histories()), |(lifetimes, history)| {
        let mut approvals = approvals(lifetimes);
        let mut announced = [0; 4];
        let sweep = (0..4).map(|which| (which, Op::Expire, 1000));
        for (which, op, millis) in history.into_iter().chain(sweep) {
            let done = act(&mut approvals[which], op, Timestamp::from_millis(millis));
            announced[which] += usize::from(done == Outcome::JustExpired);
        }
        for (approval, announced) in approvals.iter().zip(announced) {
            let expired = approval.status == ApprovalStatus::Expired;
            prop_assert_eq!(announced, usize::from(expired), "{:?}", approval.status);
        }
        Ok(())
    });
}
