//! Properties of approvals: they are counted correctly, used at most once, and only
//! when approved.

use std::collections::BTreeSet;

use ostler_domain::gate::AskReason;
use ostler_domain::gate::approval::{
    Approval, ApprovalError, ApprovalStatus, ArgumentsHash, count_pending,
};
use ostler_domain::id::{AgentId, ApprovalId, InboxId, SessionId, UserId};
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
    Withdraw,
    /// The arguments and the inbox entry of the run.
    Consume(u8, u8),
}

/// Operations, each on one of the approvals at some time. The times are not in
/// order, because the clocks of two nodes can differ.
fn histories() -> impl Strategy<Value = Vec<(usize, Op, i64)>> {
    let op = prop_oneof![
        3 => Just(Op::Approve),
        2 => (0..3u8).prop_map(Op::ApproveWith),
        1 => Just(Op::Reject),
        2 => Just(Op::Expire),
        1 => Just(Op::Withdraw),
        6 => (0..3u8, 0..3u8).prop_map(|(arguments, entry)| Op::Consume(arguments, entry)),
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
        ask_reason: AskReason::ApprovalList,
        arguments: ArgumentsHash([0; 32]),
        requested_at: Timestamp::from_millis(0),
        expires_at: Timestamp::from_millis(lifetime),
        status: ApprovalStatus::Pending,
    };
    lifetimes.into_iter().enumerate().map(approval).collect()
}

/// The expected status of an approval, tracked independently.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expected {
    Pending,
    /// The arguments, and the time until which the call has to be made.
    Approved(u8, i64),
    Used(u8, u8),
    Final,
}

/// The result of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Done,
    /// It expired now, which is when everybody is to be notified.
    JustExpired,
    Refused,
}

/// Returns the expected status after an operation, and its result.
fn step(expected: Expected, op: Op, now: i64, lifetime: i64) -> (Expected, Outcome) {
    use Expected::{Approved, Final, Pending, Used};
    let end = now + lifetime;
    match (expected, op) {
        (Pending, Op::Consume(..)) => (Pending, Outcome::Refused),
        (Pending | Approved(..), Op::Withdraw) => (Final, Outcome::Done),
        (Pending, _) if now >= lifetime => (Final, Outcome::JustExpired),
        (Pending, Op::Approve) => (Approved(0, end), Outcome::Done),
        (Pending, Op::ApproveWith(approved)) => (Approved(approved, end), Outcome::Done),
        (Pending, Op::Reject) => (Final, Outcome::Done),
        (Approved(_, end), Op::Expire) if now >= end => (Final, Outcome::JustExpired),
        (Approved(approved, end), Op::Consume(used, entry)) if approved == used && now < end => {
            (Used(used, entry), Outcome::Done)
        }
        (Used(used, entry), Op::Consume(same, again)) if (used, entry) == (same, again) => {
            (Used(used, entry), Outcome::Done)
        }
        (same, _) => (same, Outcome::Refused),
    }
}

fn apply(approval: &mut Approval, op: Op, now: Timestamp) -> Outcome {
    let result = match op {
        Op::Approve => approval.approve(OWNER, now),
        Op::ApproveWith(n) => approval.approve_with_arguments(OWNER, ArgumentsHash([n; 32]), now),
        Op::Reject => approval.reject(OWNER, "no", now),
        Op::Expire if approval.expire(now) => return Outcome::JustExpired,
        Op::Expire => return Outcome::Refused,
        Op::Withdraw if approval.withdraw() => return Outcome::Done,
        Op::Withdraw => return Outcome::Refused,
        Op::Consume(n, entry) => {
            approval.consume(ArgumentsHash([n; 32]), InboxId::from_u128(entry.into()), now)
        }
    };
    match result {
        Ok(()) => Outcome::Done,
        Err(ApprovalError::JustExpired(_)) => Outcome::JustExpired,
        Err(_) => Outcome::Refused,
    }
}

/// D06, D07, D08: after every step the pending approvals of each session are
/// counted correctly, each call belongs to at most one run and only as it was approved, and
/// one that was rejected, expired, withdrawn or decided too late never runs.
#[test]
fn d08_any_history_of_approvals_is_counted_and_used_correctly() {
    check(500, &(lifetimes(), histories()), |(lifetimes, history)| {
        let mut approvals = approvals(lifetimes);
        let mut expected = [Expected::Pending; 4];
        let mut users: [BTreeSet<u8>; 4] = Default::default();
        for (index, op, millis) in history {
            let now = Timestamp::from_millis(millis);
            let done = apply(&mut approvals[index], op, now);
            let (next, outcome) = step(expected[index], op, millis, lifetimes[index]);
            expected[index] = next;
            prop_assert_eq!(done, outcome, "{:?} at {}", op, millis);
            if let (Op::Consume(_, entry), Outcome::Done) = (op, done) {
                users[index].insert(entry);
            }
            prop_assert!(users[index].len() <= 1, "used by two runs");
            for (n, session) in SESSIONS.into_iter().enumerate() {
                let of_session = expected.iter().skip(n).step_by(2);
                let pending = of_session.filter(|&&e| e == Expected::Pending).count();
                prop_assert_eq!(count_pending(session, &approvals), pending);
            }
        }
        for (approval, users) in approvals.iter().zip(users) {
            let is_used = matches!(approval.status, ApprovalStatus::Used { .. });
            prop_assert_eq!(is_used, users.len() == 1, "{:?}", approval.status);
        }
        Ok(())
    });
}

/// D07: every expiry is reported once, to the sweep or to the late decision,
/// whichever comes first.
#[test]
fn d07_every_expiry_is_reported_once() {
    check(300, &(lifetimes(), histories()), |(lifetimes, history)| {
        let mut approvals = approvals(lifetimes);
        let mut reported = [0; 4];
        let sweep = (0..4).map(|index| (index, Op::Expire, 1000));
        for (index, op, millis) in history.into_iter().chain(sweep) {
            let done = apply(&mut approvals[index], op, Timestamp::from_millis(millis));
            reported[index] += usize::from(done == Outcome::JustExpired);
        }
        for (approval, reported) in approvals.iter().zip(reported) {
            let expired = matches!(approval.status, ApprovalStatus::Expired { .. });
            prop_assert_eq!(reported, usize::from(expired), "{:?}", approval.status);
        }
        Ok(())
    });
}
