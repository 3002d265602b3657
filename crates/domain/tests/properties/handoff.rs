//! Handoffs: limit, cooldown and history hold in every sequence.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_domain::agent::{Agent, AgentKind, AgentStatus};
use ostler_domain::id::{AgentId, OrgId, SessionId};
use ostler_domain::money::Credits;
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::config::{HandoffMatrix, HandoffTargets, TeamConfig};
use ostler_domain::team::handoff::{HandoffFacts, HandoffRefused, HandoffRequest, validate};
use ostler_domain::team::{TeamSession, effective_agent};
use ostler_domain::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;

use crate::agents::{OURS, agent, id};
use crate::check;

const SESSION: SessionId = SessionId::from_u128(2);

/// Four agents that can answer, one paused, one internal, and one of another org.
fn agents() -> [Agent; 7] {
    [
        agent(0),
        agent(1),
        agent(2),
        agent(3),
        Agent { status: AgentStatus::Paused, ..agent(4) },
        Agent { kind: AgentKind::Internal, ..agent(5) },
        Agent { org: OrgId::from_u128(9), ..agent(6) },
    ]
}

/// A handoff request after some time. Target 7 does not exist; the request may come from
/// a colleague who does not have the conversation.
#[derive(Debug, Clone)]
struct Ask {
    after_millis: u64,
    target: usize,
    reason: &'static str,
    summary: &'static str,
    status: SessionStatus,
    available: u64,
    spent: u64,
    hand_back: bool,
    colleague: bool,
}

fn asks() -> impl Strategy<Value = Ask> {
    let pause = prop_oneof![2 => 0..3000u64, 1 => 0..200u64];
    let target = prop_oneof![6 => 0..4usize, 1 => 4..8usize];
    let reason = prop_oneof![3 => Just("they know refunds"), 1 => select(vec!["", "  "])];
    let summary = select(vec!["wants a refund", " is angry ", "", " "]);
    let others = vec![SessionStatus::HandedOff, SessionStatus::Closed(CloseReason::Expired)];
    let status = prop_oneof![12 => Just(SessionStatus::Active), 1 => select(others)];
    let available = prop_oneof![6 => 1..9u64, 1 => Just(0)];
    let rarely = || prop::bool::weighted(0.1);
    let words = (reason, summary, status);
    (pause, target, words, available, 0..3u64, rarely(), rarely()).prop_map(
        |(after_millis, target, words, available, spent, hand_back, colleague)| Ask {
            after_millis,
            target,
            reason: words.0,
            summary: words.1,
            status: words.2,
            available,
            spent,
            hand_back,
            colleague,
        },
    )
}

fn configs() -> impl Strategy<Value = TeamConfig> {
    let targets = prop_oneof![
        Just(HandoffTargets::Anyone),
        prop::collection::btree_set((0..4usize).prop_map(id), 0..3).prop_map(HandoffTargets::Only),
    ];
    let matrix = prop::collection::btree_map((0..4usize).prop_map(id), targets, 0..5);
    let matrix = prop::option::weighted(0.3, matrix);
    (0..7u32, 0..2500u64, any::<bool>(), matrix, 0..20u64).prop_map(
        |(max_handoffs, cooldown, require_handoff_reason, permissions, budget)| TeamConfig {
            max_handoffs,
            handoff_cooldown: Duration::from_millis(cooldown),
            require_handoff_reason,
            permissions,
            budget: Credits::new(budget),
            ..TeamConfig::default()
        },
    )
}

fn may_hand_over(matrix: Option<&HandoffMatrix>, from: AgentId, to: AgentId) -> bool {
    matrix.is_none_or(|matrix| match matrix.get(&from) {
        Some(HandoffTargets::Anyone) => true,
        Some(HandoffTargets::Only(targets)) => targets.contains(&to),
        None => false,
    })
}

/// Returns the rules that a request breaks, each checked by itself, in the order of the
/// refusals.
fn broken(ask: &Ask, facts: &HandoffFacts<'_>, now: Timestamp) -> Vec<&'static str> {
    let config = facts.config;
    let history = facts.team.map(TeamSession::history).unwrap_or_default();
    let team_left = facts.team.map_or(config.budget, |team| team.budget.remaining());
    let cool = history.last().is_none_or(|last| now.since(last.at) >= config.handoff_cooldown);
    let permitted = may_hand_over(config.permissions.as_ref(), facts.from, id(ask.target));
    let unexplained = config.require_handoff_reason && ask.reason.trim().is_empty();
    let rules = [
        ("no such agent", ask.target >= 6),
        ("with a human", ask.status != SessionStatus::Active),
        ("not yours", facts.team.is_some_and(|team| team.active() != facts.from)),
        ("not active", ask.target >= 4),
        ("to itself", id(ask.target) == facts.from),
        ("cap", history.len() >= config.max_handoffs as usize),
        ("cooldown", !cool),
        ("credits", facts.available.is_zero() || team_left.is_zero()),
        ("not permitted", !permitted),
        ("no reason", unexplained),
    ];
    rules.into_iter().filter_map(|(rule, broken)| broken.then_some(rule)).collect()
}

const fn rule(refused: &HandoffRefused) -> &'static str {
    match refused {
        HandoffRefused::NoSuchAgent => "no such agent",
        HandoffRefused::WithHuman => "with a human",
        HandoffRefused::NotYours => "not yours",
        HandoffRefused::NotActive { .. } => "not active",
        HandoffRefused::ToItself => "to itself",
        HandoffRefused::CapReached { .. } => "cap",
        HandoffRefused::Cooldown { .. } => "cooldown",
        HandoffRefused::NoCredits { .. } => "credits",
        HandoffRefused::NotPermitted { .. } => "not permitted",
        HandoffRefused::NoReason => "no reason",
    }
}

/// Checks limit and cooldown over a whole history, and that participants are unique.
fn check_history(team: &TeamSession, config: &TeamConfig) -> Result<(), TestCaseError> {
    let history = team.history();
    prop_assert!(history.len() <= config.max_handoffs as usize);
    for pair in history.windows(2) {
        let apart = pair[1].at.since(pair[0].at);
        prop_assert!(apart >= config.handoff_cooldown, "{:?} apart", apart);
    }
    let participants = team.participants();
    let distinct: BTreeSet<&AgentId> = participants.iter().collect();
    prop_assert_eq!(distinct.len(), participants.len());
    let mentioned = history.iter().flat_map(|record| [record.from, record.to]);
    let mentioned: BTreeSet<AgentId> = mentioned.chain([team.primary]).collect();
    prop_assert_eq!(mentioned, participants.iter().copied().collect::<BTreeSet<_>>());
    Ok(())
}

/// G05, G09-G15, G17-G19, G26, G27: in every sequence of requests a handoff passes exactly
/// when each rule by itself allows it, and a refusal names the first rule that does not.
/// Limit and cooldown hold, the history only grows, participants are unique, a summary
/// stays until there is a newer one, and the active agent is the last target or, after a
/// human, the first agent.
#[test]
fn g10_g11_every_sequence_of_handoffs_keeps_limit_and_cooldown() {
    let sequences = prop::collection::vec(asks(), 1..40);
    let agents = agents();
    check(800, &(configs(), sequences), |(config, sequence)| {
        let mut now = Timestamp::from_millis(0);
        let mut team: Option<TeamSession> = None;
        let mut answering = id(0);
        let mut summary = "";
        for ask in sequence {
            now = now + Duration::from_millis(ask.after_millis);
            let active = effective_agent(id(0), team.as_ref());
            prop_assert_eq!(active, answering);
            let colleague = (0..4).map(id).find(|&other| other != active).unwrap_or(active);
            let intrudes = ask.colleague && team.is_some();
            let facts = HandoffFacts {
                session: SESSION,
                org: OURS,
                from: if intrudes { colleague } else { active },
                target: agents.get(ask.target),
                team: team.as_ref(),
                status: ask.status,
                available: Credits::new(ask.available),
                config: &config,
            };
            let request = HandoffRequest {
                reason: ask.reason.to_owned(),
                context_summary: ask.summary.to_owned(),
                suggested_approach: None,
            };
            let before = team.clone();
            let broken = broken(&ask, &facts, now);
            match validate(&request, &facts, now) {
                Ok(valid) => {
                    prop_assert!(broken.is_empty(), "{:?} passed: {:?}", ask, broken);
                    valid.apply(&mut team);
                    let after = team.as_ref().ok_or(TestCaseError::fail("no team"))?;
                    let old = before.as_ref().map(TeamSession::history).unwrap_or_default();
                    let (last, kept) =
                        after.history().split_last().ok_or(TestCaseError::fail("no record"))?;
                    prop_assert_eq!(kept, old);
                    prop_assert_eq!((last.from, last.to), (answering, id(ask.target)));
                    prop_assert_eq!(&last.reason, ask.reason.trim());
                    prop_assert_eq!(last.at, now);
                    prop_assert_eq!(&last.context_summary, ask.summary);
                    // The newest text that is not empty, a summary before a reason.
                    let reason = Some(ask.reason.trim()).filter(|_| summary.is_empty());
                    let newest = Some(ask.summary.trim()).filter(|text| !text.is_empty());
                    summary = newest.or(reason).unwrap_or(summary);
                    let kept = after.shared.summary.as_deref().unwrap_or_default();
                    prop_assert_eq!(kept, summary);
                    prop_assert_eq!(after.active(), last.to);
                    answering = last.to;
                }
                Err(why) => {
                    prop_assert_eq!(Some(&rule(&why)), broken.first(), "{:?}: {}", ask, why);
                    if let HandoffRefused::Cooldown { remaining_secs } = why {
                        prop_assert!(remaining_secs >= 1, "a wait of nothing");
                    }
                    prop_assert_eq!(&team, &before);
                }
            }
            if let Some(team) = &mut team {
                check_history(team, &config)?;
                prop_assert_eq!(team.active(), answering);
                // Spending may be refused; it is not part of the handoff.
                let _ = team.budget.spend(answering, Credits::new(ask.spent));
                if ask.hand_back {
                    team.return_to_primary();
                    answering = id(0);
                }
                prop_assert_eq!(team.active(), answering);
            }
        }
        Ok(())
    });
}

/// G02, G05, G06: a team consists of active agents of one org; the first one answers, and
/// each participates once, in the given order.
#[test]
fn g02_a_team_consists_of_active_agents_of_one_org() {
    let all = agents();
    let named = prop::collection::vec(prop_oneof![9 => 0..4usize, 1 => 4..7usize], 0..8);
    check(300, &named, |named| {
        let chosen: Vec<&Agent> = named.iter().map(|&n| &all[n]).collect();
        let fit = !named.is_empty() && named.iter().all(|&n| n < 4);
        let team = TeamSession::assemble(SESSION, OURS, &chosen, Credits::new(7));
        prop_assert_eq!(team.is_ok(), fit, "{:?}", team);
        let Ok(team) = team else { return Ok(()) };
        let mut once: Vec<AgentId> = vec![];
        for n in named {
            if !once.contains(&id(n)) {
                once.push(id(n));
            }
        }
        prop_assert_eq!(team.participants(), once.as_slice());
        prop_assert_eq!((team.primary, team.active()), (once[0], once[0]));
        prop_assert_eq!((team.budget.owner, team.budget.remaining()), (once[0], Credits::new(7)));
        prop_assert!(team.history().is_empty());
        Ok(())
    });
}
