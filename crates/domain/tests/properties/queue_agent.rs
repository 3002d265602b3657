//! Queue agents: what holds for every order of events.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_domain::id::{AgentId, DelegationId};
use ostler_domain::queue_agent::authority::{
    AuthorityClaim, AuthorityTier, ClaimedActions, resolve_authority,
};
use ostler_domain::queue_agent::breaker::{Breaker, BreakerOutcome, BreakerPolicy, BreakerState};
use ostler_domain::queue_agent::delegation::{Delegation, DelegationBoard, DelegationStatus};
use ostler_domain::queue_agent::failure::{FailureClass, Recovery, RecoveryPolicy, RecoveryState};
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::selection::{
    AgentSkill, Availability, DelegationCandidate, select_agent,
};
use ostler_domain::queue_agent::sla::{SlaAction, SlaPolicy, SlaWatch};
use ostler_domain::queue_agent::team_lifecycle::{Team, TeamStatus};
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::{Timestamp, UtcDay};
use proptest::prelude::*;
use proptest::sample::select;

use crate::check;

fn name(number: u8) -> AgentName {
    AgentId::from_u128(number.into()).into()
}

/// X48: nothing is dispatched while the breaker is open, and no second message during a
/// probe.
#[test]
fn x48_nothing_is_dispatched_while_open() {
    let outcome =
        select(vec![BreakerOutcome::Succeeded, BreakerOutcome::Failed, BreakerOutcome::Abandoned]);
    let event = (any::<bool>(), 0i64..60, outcome, any::<usize>());
    check(500, &prop::collection::vec(event, 0..80), |events| {
        let policy = BreakerPolicy { threshold: 3, cooldown: Duration::from_millis(100) };
        let (mut breaker, mut now, mut out) = (Breaker::new(policy), 0, Vec::new());
        let mut probing = false;
        for (dispatch, wait, outcome, which) in events {
            now += wait;
            let moment = Timestamp::from_millis(now);
            let before = breaker.state();
            if dispatch {
                let admitted = breaker.admit(moment);
                let expected = match before {
                    BreakerState::Closed { .. } => true,
                    BreakerState::Open { until } => until <= moment,
                    BreakerState::HalfOpen => false,
                };
                prop_assert_eq!(admitted.is_ok(), expected);
                probing |= expected && !matches!(before, BreakerState::Closed { .. });
                out.extend(admitted);
            } else if !out.is_empty() {
                let permit = out.swap_remove(which % out.len());
                breaker.report(permit, outcome, moment);
                if outcome != BreakerOutcome::Succeeded {
                    let closed = |state| matches!(state, BreakerState::Closed { .. });
                    prop_assert!(closed(before) || !closed(breaker.state()));
                }
            }
            prop_assert!(probing || breaker.state() != BreakerState::HalfOpen);
        }
        Ok(())
    });
}

/// X59: at any tick rate there is one alert after the deadline, then at most three
/// retries in order, then one escalation.
#[test]
fn x59_the_watch_returns_each_action_once() {
    let ticks = prop::collection::vec(0i64..40, 0..60);
    check(500, &(ticks, 0i64..200, 0usize..70), |(ticks, deadline, done_at)| {
        let policy = SlaPolicy { retries: 3, retry_interval: Duration::from_millis(20) };
        let mut watch = SlaWatch::new(Timestamp::from_millis(deadline));
        let (mut now, mut actions, mut last) = (0, Vec::new(), None);
        for (number, wait) in ticks.into_iter().enumerate() {
            now += wait;
            if number == done_at {
                watch.complete();
            }
            let Some(action) = watch.tick(policy, Timestamp::from_millis(now)) else { continue };
            prop_assert!(number < done_at && now >= deadline);
            prop_assert!(last.is_none_or(|last| now - last >= 20));
            last = Some(now);
            actions.push(action);
        }
        let whole = [
            SlaAction::Alert,
            SlaAction::Retry(1),
            SlaAction::Retry(2),
            SlaAction::Retry(3),
            SlaAction::Escalate,
        ];
        prop_assert_eq!(&actions[..], &whole[..actions.len()]);
        Ok(())
    });
}

fn work(number: u8, blocked_by: BTreeSet<u8>) -> Delegation {
    Delegation {
        id: DelegationId::from_u128(number.into()),
        reference: ReferenceCode::new(UtcDay::default(), number.into()),
        root: None,
        delegated_by: name(0),
        assignee: name(number % 3),
        description: String::new(),
        due: None,
        status: DelegationStatus::Assigned,
        blocked_by: blocked_by.into_iter().map(|id| DelegationId::from_u128(id.into())).collect(),
    }
}

/// X40: whatever edges are requested, there is never a cycle: completing what is ready
/// completes everything, and nothing starts before its blockers.
#[test]
fn x40_everything_can_be_finished_in_some_order() {
    let edges = prop::collection::vec((0u8..10, 0u8..10), 0..60);
    check(300, &(edges, prop::collection::vec(any::<usize>(), 10)), |(edges, picks)| {
        let now = Timestamp::default();
        let mut board = DelegationBoard::default();
        for number in 0..10 {
            board.delegate(work(number, BTreeSet::new())).map_err(fail)?;
        }
        for (task, blocker) in edges {
            let id = |number: u8| DelegationId::from_u128(number.into());
            let _cycle_refused = board.block(id(task), id(blocker));
        }
        for pick in picks {
            let ready: Vec<DelegationId> = board.ready().map(|work| work.id).collect();
            prop_assert!(!ready.is_empty(), "a cycle");
            let next = ready[pick % ready.len()];
            for blocked in board.blocked().map(|work| work.id).collect::<Vec<_>>() {
                let early = board.update(blocked, DelegationStatus::InProgress, now);
                prop_assert!(early.is_err());
            }
            board.update(next, DelegationStatus::InProgress, now).map_err(fail)?;
            let before: BTreeSet<DelegationId> = board.ready().map(|work| work.id).collect();
            let freed = board.update(next, DelegationStatus::Complete, now).map_err(fail)?;
            let after: BTreeSet<DelegationId> = board.ready().map(|work| work.id).collect();
            let news: Vec<DelegationId> = after.difference(&before).copied().collect();
            prop_assert_eq!(freed, news);
        }
        prop_assert_eq!(board.ready().count() + board.blocked().count(), 0);
        Ok(())
    });
}

fn fail(error: impl std::fmt::Display) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// X50: recovery ends for every sequence of failures.
#[test]
fn x50_recovery_ends() {
    let classes = prop::collection::vec(select(FailureClass::ALL.to_vec()), 30);
    check(300, &classes, |classes| {
        let (policy, mut state) = (RecoveryPolicy::default(), RecoveryState::default());
        let steps: Vec<Recovery> =
            classes.into_iter().map(|class| policy.next(&mut state, class, 0)).collect();
        let retries = steps
            .iter()
            .filter(|step| matches!(step, Recovery::RetryNow | Recovery::RetryAfter(_)))
            .count();
        prop_assert!(retries <= 3, "{:?}", steps);
        prop_assert_eq!(steps.iter().filter(|step| **step == Recovery::Reroute).count() / 2, 0);
        prop_assert!(steps.contains(&Recovery::GiveUp), "{:?}", steps);
        Ok(())
    });
}

/// X57: the selected agent has the skill, is available, and is the least loaded such agent.
#[test]
fn x57_the_selected_agent_is_the_least_loaded() {
    let candidate = (any::<bool>(), any::<bool>(), 0u64..50, 0u32..5);
    check(300, &prop::collection::vec(candidate, 0..12), |drawn| {
        let wanted = AgentSkill::from("wanted");
        let candidates: Vec<DelegationCandidate> = (0u8..)
            .zip(drawn)
            .map(|(number, (able, available, load, concurrency))| DelegationCandidate {
                name: name(number),
                capabilities: if able { [wanted.clone()].into() } else { BTreeSet::new() },
                availability: if available {
                    Availability::Available
                } else {
                    Availability::Unavailable
                },
                load,
                concurrency,
            })
            .collect();
        let fits = |candidate: &&DelegationCandidate| {
            candidate.capabilities.contains(&wanted)
                && candidate.availability == Availability::Available
        };
        match select_agent(&wanted, &candidates) {
            Err(_) => prop_assert!(!candidates.iter().any(|candidate| fits(&candidate))),
            Ok(chosen) => {
                prop_assert!(fits(&chosen));
                let wait = |candidate: &DelegationCandidate| {
                    candidate.load as f64 / f64::from(candidate.concurrency.max(1))
                };
                prop_assert!(
                    candidates.iter().filter(fits).all(|other| wait(chosen) <= wait(other))
                );
            }
        }
        Ok(())
    });
}

/// X33: adding a claim never loosens the tier, and one invalid claim refuses the message.
#[test]
fn x33_another_claim_only_narrows() {
    let tiers =
        vec![AuthorityTier::JustDoIt, AuthorityTier::DoItAndShowMe, AuthorityTier::AskMeFirst];
    let claim = (0u8..3, select(tiers), any::<bool>(), prop::option::of(0i64..20)).prop_map(
        |(to, tier, all, expires)| AuthorityClaim {
            granted_by: name(9),
            granted_to: name(to % 2),
            tier,
            actions: if all {
                ClaimedActions::All
            } else {
                ClaimedActions::Only(["other".into()].into())
            },
            granted_at: Timestamp::default(),
            expires_at: expires.map(Timestamp::from_millis),
        },
    );
    check(500, &(prop::collection::vec(claim, 1..5), 0i64..20), |(claims, now)| {
        let now = Timestamp::from_millis(now);
        let decide = |claims: &[AuthorityClaim]| {
            resolve_authority(claims, &name(0), "act", AuthorityTier::JustDoIt, now)
        };
        if let (Ok(fewer), Ok(all)) = (decide(&claims[..claims.len() - 1]), decide(&claims)) {
            prop_assert!(all.tier >= fewer.tier);
        }
        let void = |claim: &AuthorityClaim| {
            claim.granted_to != name(0) || claim.expires_at.is_some_and(|at| at <= now)
        };
        prop_assert!(!claims.iter().any(void) || decide(&claims).is_err());
        Ok(())
    });
}

/// X41: a team's status only moves forward, and there is always a leader.
#[test]
fn x41_a_team_status_only_moves_forward() {
    check(400, &prop::collection::vec((0u8..6, 0u8..5), 0..60), |events| {
        let (mut team, _) = Team::assemble("t".parse().map_err(fail)?, name(0), [name(1)]);
        for (event, agent) in events {
            let (before, agent) = (team.status(), name(agent));
            let _refused_or_not = match event {
                0 => team.member_started(&agent).is_ok(),
                1 => team.join(agent).is_ok(),
                2 => team.leave(&agent).is_ok(),
                3 => team.appoint_leader(&agent).is_ok(),
                4 => team.member_stopped(&agent).is_ok(),
                _ => agent == name(0) && team.dissolve().is_ok(),
            };
            let (from, to) = (before as u8, team.status() as u8);
            prop_assert!(to == from || to == from + 1 || team.status() == TeamStatus::Dissolving);
            prop_assert!(to >= from);
            prop_assert!(team.members().contains(team.leader()));
        }
        Ok(())
    });
}
