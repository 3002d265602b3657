//! Souls: versions are never lost or changed, and a decided proposal is final.

use ostler_domain::agent::{Agent, Protection};
use ostler_domain::id::{ProposalId, UserId};
use ostler_domain::soul::proposal::{Proposal, ProposalError, ProposalStatus};
use ostler_domain::soul::{Soul, SoulHistory, SoulOrigin, SoulVersion};
use ostler_domain::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;

use crate::agents::{agent, id};
use crate::check;

fn soul(n: u32) -> Soul {
    Soul { personality: format!("personality {n}"), ..Soul::default() }
}

#[derive(Debug, Clone, Copy)]
enum Edit {
    Push(u32),
    Rollback(u32),
}

/// H04, H07: after any edits and rollbacks the versions 1 to n are complete, old ones are
/// unchanged, and a rollback has the content of its target.
#[test]
fn h07_versions_are_complete_and_never_change() {
    let edit = prop_oneof![
        (0..5u32).prop_map(Edit::Push),
        prop_oneof![4 => 0..12u32, 1 => any::<u32>()].prop_map(Edit::Rollback),
    ];
    check(400, &prop::collection::vec(edit, 0..30), |edits| {
        let mut history = SoulHistory::new(soul(0), Timestamp::from_millis(0));
        let mut kept: Vec<SoulVersion> = history.versions().cloned().collect();
        for (millis, edit) in (1..).zip(edits) {
            let at = Timestamp::from_millis(millis);
            let version = kept.len() as u32 + 1;
            let made = match edit {
                Edit::Push(n) => {
                    let origin = SoulOrigin::Edited;
                    history.push(soul(n), origin, at);
                    Some(SoulVersion { version, soul: soul(n), origin, at })
                }
                Edit::Rollback(to) => {
                    let target = kept.iter().find(|old| old.version == to);
                    prop_assert_eq!(history.rollback(to, at).is_ok(), target.is_some());
                    let origin = SoulOrigin::Rollback { to };
                    target.map(|old| SoulVersion { version, soul: old.soul.clone(), origin, at })
                }
            };
            kept.extend(made);
            prop_assert!(history.versions().eq(&kept), "{:?}", history);
            prop_assert_eq!(Some(history.current()), kept.last());
        }
        for version in &kept {
            prop_assert_eq!(history.get(version.version), Ok(version));
        }
        Ok(())
    });
}

/// The agent that a proposal is applied to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ApplyTo {
    Target,
    Another,
    /// The target, which has become protected since.
    Protected,
    /// The target, which has got a template since.
    Templated,
}

impl ApplyTo {
    fn agent(self) -> Agent {
        match self {
            Self::Target => agent(1),
            Self::Another => agent(2),
            Self::Protected => Agent { protection: Protection::Protected, ..agent(1) },
            Self::Templated => Agent { template: Some(id(3)), ..agent(1) },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Approve,
    Reject,
    Expire,
    Apply(ApplyTo),
    Edit,
}

const EXPIRES_AT: i64 = 1000;

fn histories() -> impl Strategy<Value = Vec<(Op, i64)>> {
    let others = select(vec![ApplyTo::Another, ApplyTo::Protected, ApplyTo::Templated]);
    let apply_to = prop_oneof![Just(ApplyTo::Target), others];
    let op = prop_oneof![
        3 => Just(Op::Approve),
        1 => Just(Op::Reject),
        1 => Just(Op::Expire),
        4 => apply_to.prop_map(Op::Apply),
        1 => Just(Op::Edit),
    ];
    prop::collection::vec((op, prop_oneof![3 => 0..EXPIRES_AT, 1 => 0..2 * EXPIRES_AT]), 0..12)
}

fn proposal() -> Proposal {
    Proposal {
        reason: String::new(),
        id: ProposalId::from_u128(1),
        target: id(1),
        base_version: 1,
        soul: soul(7),
        made_at: Timestamp::from_millis(0),
        expires_at: Timestamp::from_millis(EXPIRES_AT),
        status: ProposalStatus::Pending,
    }
}

/// The outcome of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Done,
    /// The operation found the proposal expired.
    JustExpired,
    Refused(Option<ProposalError>),
}

fn act(proposal: &mut Proposal, souls: &mut SoulHistory, op: Op, now: Timestamp) -> Outcome {
    let owner = UserId::from_u128(2);
    let result = match op {
        Op::Approve => proposal.approve(owner, now),
        Op::Reject => proposal.reject(owner, "no", now),
        Op::Expire if proposal.expire(now) => return Outcome::JustExpired,
        Op::Expire => return Outcome::Refused(None),
        Op::Apply(apply_to) => proposal.apply(&apply_to.agent(), souls, now),
        Op::Edit => {
            souls.push(soul(3), SoulOrigin::Edited, now);
            Ok(())
        }
    };
    match result {
        Ok(()) => Outcome::Done,
        Err(ProposalError::JustExpired(_)) => Outcome::JustExpired,
        Err(why) => Outcome::Refused(Some(why)),
    }
}

/// H08: a proposal goes from pending to approved to applied, or is rejected, expired or
/// superseded; these are final, and only an applied proposal creates a version.
#[test]
fn h08_a_final_status_never_changes() {
    use ProposalStatus::{Applied, Approved, Expired, Pending, Rejected, Superseded};
    check(800, &histories(), |history| {
        let mut souls = SoulHistory::new(soul(0), Timestamp::from_millis(0));
        let mut proposal = proposal();
        for (op, millis) in history {
            let (before, versions) = (proposal.clone(), souls.versions().count());
            let outcome = act(&mut proposal, &mut souls, op, Timestamp::from_millis(millis));
            let (done, over) = (outcome == Outcome::Done, millis >= EXPIRES_AT);
            let legal = match (&before.status, &proposal.status) {
                (Pending, Approved { .. }) => done && op == Op::Approve && !over,
                (Pending, Rejected { .. }) => done && op == Op::Reject && !over,
                (Pending, Expired) => {
                    outcome == Outcome::JustExpired
                        && over
                        && matches!(op, Op::Approve | Op::Reject | Op::Expire)
                }
                (Approved { by: asked }, Applied { by, before, after }) => {
                    done && op == Op::Apply(ApplyTo::Target) && asked == by && after - before == 1
                }
                (Approved { .. }, Superseded) => {
                    let stale = Some(ProposalError::Stale {
                        id: proposal.id,
                        base: 1,
                        current: souls.current().version,
                    });
                    let own = Op::Apply(ApplyTo::Target);
                    let taken = [Op::Apply(ApplyTo::Protected), Op::Apply(ApplyTo::Templated)]
                        .contains(&op);
                    let wrong = Some(ProposalError::WrongTarget(proposal.id));
                    (outcome == Outcome::Refused(stale) && op == own && versions > 1)
                        || (outcome == Outcome::Refused(wrong) && taken)
                }
                (same, still) => (!done || op == Op::Edit) && same == still,
            };
            prop_assert!(legal, "{:?} to {:?}", before.status, proposal.status);
            prop_assert_eq!(&proposal.soul, &before.soul);
            let applied = matches!(op, Op::Apply(_)) && done;
            let made = usize::from(applied || op == Op::Edit);
            prop_assert_eq!(souls.versions().count(), versions + made);
            if applied {
                prop_assert_eq!(&souls.current().soul, &proposal.soul);
                let origin = SoulOrigin::Proposal(proposal.id);
                prop_assert_eq!(souls.current().origin, origin);
            }
        }
        Ok(())
    });
}

/// H08: an approved proposal is applied only to its own agent while that is unprotected
/// and has no template, and only to the version it was made against; a refusal says which,
/// and a newer version supersedes the proposal for good.
#[test]
fn h08_a_proposal_is_applied_only_to_its_own_agent_and_version() {
    check(600, &histories(), |history| {
        let mut souls = SoulHistory::new(soul(0), Timestamp::from_millis(0));
        let mut proposal = proposal();
        for (op, millis) in history {
            let approved = matches!(proposal.status, ProposalStatus::Approved { .. });
            let (id, base, current) = (proposal.id, 1, souls.current().version);
            let outcome = act(&mut proposal, &mut souls, op, Timestamp::from_millis(millis));
            let Op::Apply(apply_to) = op else { continue };
            let expected = if !approved {
                Outcome::Refused(Some(ProposalError::Over(id)))
            } else if apply_to != ApplyTo::Target {
                Outcome::Refused(Some(ProposalError::WrongTarget(id)))
            } else if current != base {
                Outcome::Refused(Some(ProposalError::Stale { id, base, current }))
            } else {
                Outcome::Done
            };
            prop_assert_eq!(outcome, expected);
            let stale = matches!(outcome, Outcome::Refused(Some(ProposalError::Stale { .. })));
            prop_assert!(!stale || proposal.status == ProposalStatus::Superseded);
        }
        Ok(())
    });
}

/// H08: every expiry is reported once, to the sweep or to a late answer.
#[test]
fn h08_every_expiry_is_reported_once() {
    check(300, &histories(), |history| {
        let mut souls = SoulHistory::new(soul(0), Timestamp::from_millis(0));
        let mut proposal = proposal();
        let mut reported = 0;
        for (op, millis) in history.into_iter().chain([(Op::Expire, i64::MAX)]) {
            let outcome = act(&mut proposal, &mut souls, op, Timestamp::from_millis(millis));
            reported += usize::from(outcome == Outcome::JustExpired);
        }
        let expired = proposal.status == ProposalStatus::Expired;
        prop_assert_eq!(reported, usize::from(expired), "{:?}", proposal.status);
        Ok(())
    });
}
