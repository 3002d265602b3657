//! Properties of spending caps: a turn, a team and a session never overdraw.

use std::collections::BTreeMap;

use ostler_domain::id::AgentId;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{
    BudgetExceeded, BudgetLimit, SessionBudget, SpendingMode, TeamBudget, TeamBudgetExceeded,
    TurnBudget,
};
use proptest::prelude::*;

use crate::check;

fn amounts() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..60u64, 1 => any::<u64>()]
}

fn budgets() -> impl Strategy<Value = TurnBudget> {
    let maybe = || prop::option::of(amounts());
    (amounts(), amounts(), amounts(), amounts(), maybe(), maybe()).prop_map(
        |(reserved, top_up, session, read_reserve, team, subagent)| TurnBudget {
            reserved: Credits::new(reserved),
            top_up: Credits::new(top_up),
            session: Credits::new(session),
            subagent: subagent.map(Credits::new),
            read_reserve: Credits::new(read_reserve),
            team: team.map(Credits::new),
        },
    )
}

/// Returns what the org, the session, the team and the subagent leave to a turn.
fn limits(budget: &TurnBudget) -> [Option<u128>; 4] {
    let wide = |credits: Credits| u128::from(credits.get());
    let org = wide(budget.reserved) + wide(budget.top_up);
    [Some(org), Some(wide(budget.session)), budget.team.map(wide), budget.subagent.map(wide)]
}

/// C07, C20: a turn can spend exactly what every limit leaves, from the reservation
/// first; a refusal names the tightest limit and changes nothing.
#[test]
fn c20_a_turn_never_overdraws_any_limit() {
    let spends = prop::collection::vec(amounts(), 0..20);
    check(400, &(budgets(), spends), |(start, spends)| {
        let mut budget = start;
        let mut spent = 0;
        for wanted in spends {
            let before = budget;
            let left = limits(&start).map(|limit| Some(limit? - spent));
            let tightest = left.into_iter().flatten().min().unwrap_or_default();
            let result = budget.spend(Credits::new(wanted));
            if u128::from(wanted) <= tightest {
                prop_assert_eq!(result, Ok(()));
                spent += u128::from(wanted);
            } else {
                let BudgetExceeded { wanted: requested, remaining, limit } =
                    result.err().ok_or_else(|| TestCaseError::fail("spent too much"))?;
                prop_assert_eq!((requested.get(), u128::from(remaining.get())), (wanted, tightest));
                let at = match limit {
                    BudgetLimit::Org => left[0],
                    BudgetLimit::Session => left[1],
                    BudgetLimit::Team => left[2],
                    BudgetLimit::Subagent => left[3],
                };
                prop_assert_eq!(at, Some(tightest), "{:?}", limit);
                prop_assert_eq!(budget, before);
            }
            prop_assert_eq!(limits(&budget), limits(&start).map(|limit| Some(limit? - spent)));
            let untouched = budget.top_up == start.top_up;
            prop_assert!(untouched || budget.reserved.is_zero(), "not from the reservation first");
            prop_assert_eq!(
                budget.check_model_call().is_ok(),
                budget.tightest_limit().0.get() >= 1
            );
        }
        Ok(())
    });
}

/// C07: a top-up by the shortfall is enough to spend from the reservation alone, is
/// never more than the org can add when the spend is affordable, and changes no
/// limit.
#[test]
fn c07_a_top_up_covers_the_shortfall() {
    check(400, &(budgets(), amounts()), |(start, wanted)| {
        let (mut budget, wanted) = (start, Credits::new(wanted));
        let missing = budget.shortfall(wanted);
        prop_assert_eq!(missing.is_zero(), wanted <= budget.reserved);
        if budget.check(wanted).is_err() {
            return Ok(());
        }
        prop_assert!(missing <= budget.top_up);
        budget.record_top_up(missing);
        prop_assert_eq!(limits(&budget), limits(&start));
        prop_assert!(budget.shortfall(wanted).is_zero());
        let added = budget.top_up;
        prop_assert_eq!(budget.spend(wanted), Ok(()));
        prop_assert_eq!(budget.top_up, added);
        Ok(())
    });
}

/// C20: actual spending lowers every limit, none below zero, also when it exceeds
/// what was left.
#[test]
fn c20_actual_spending_counts_under_every_limit() {
    let spends = prop::collection::vec(amounts(), 0..20);
    check(400, &(budgets(), spends), |(start, spends)| {
        let (mut budget, mut spent) = (start, 0);
        for amount in spends {
            budget.record(Credits::new(amount));
            spent += u128::from(amount);
            let left = limits(&start).map(|limit| Some(limit?.saturating_sub(spent)));
            prop_assert_eq!(limits(&budget), left);
        }
        Ok(())
    });
}

/// E08, E09, E10: a team and a session record actual spending beyond their caps,
/// and then pay for nothing more.
#[test]
fn e08_e10_actual_spending_counts_beyond_the_cap() {
    let spends = prop::collection::vec(amounts(), 1..20);
    check(300, &(amounts(), spends), |(cap, spends)| {
        let agent = AgentId::from_u128(1);
        let mut team = TeamBudget::new(Credits::new(cap), agent);
        let mut session = SessionBudget { cap: Credits::new(cap), ..SessionBudget::default() };
        let mut spent = 0u64;
        for amount in spends {
            team.record(agent, Credits::new(amount));
            session.record(Credits::new(amount));
            spent = spent.saturating_add(amount);
            let counted = (team.per_agent[&agent].get(), session.spent.get());
            prop_assert_eq!(counted, (spent, spent));
            let left = cap.saturating_sub(spent);
            prop_assert_eq!((team.remaining().get(), session.remaining().get()), (left, left));
            let closed = session.spending_mode() == SpendingMode::Closed;
            prop_assert_eq!(closed, left == 0);
            prop_assert_eq!(team.clone().spend(agent, Credits::new(1)).is_err(), left == 0);
        }
        Ok(())
    });
}

/// E09, E10: all agents spend from one purse, each spend is kept under its
/// agent, and what was spent and what is left are always the total.
#[test]
fn e09_e10_a_team_never_overdraws_its_budget() {
    let spends = prop::collection::vec((0..4u128, amounts()), 0..30);
    check(400, &(amounts(), spends), |(total, spends)| {
        let agent = AgentId::from_u128;
        let mut budget = TeamBudget::new(Credits::new(total), agent(0));
        let mut per_agent: BTreeMap<AgentId, u64> = BTreeMap::new();
        for (who, wanted) in spends {
            let left = total - per_agent.values().sum::<u64>();
            let result = budget.spend(agent(who), Credits::new(wanted));
            if wanted <= left {
                prop_assert_eq!(result, Ok(()));
                *per_agent.entry(agent(who)).or_default() += wanted;
            } else {
                let (wanted, remaining) = (Credits::new(wanted), Credits::new(left));
                prop_assert_eq!(result, Err(TeamBudgetExceeded { wanted, remaining }));
            }
            let recorded: BTreeMap<AgentId, u64> =
                budget.per_agent.iter().map(|(&agent, spent)| (agent, spent.get())).collect();
            prop_assert_eq!(&recorded, &per_agent);
            prop_assert_eq!(recorded.values().sum::<u64>() + budget.remaining().get(), total);
            prop_assert_eq!(budget.owner, agent(0));
        }
        Ok(())
    });
}

/// E08: spending more never opens a session again, and a session with nothing
/// left is closed.
#[test]
fn e08_a_session_only_narrows_while_it_spends() {
    let openness = |spending| match spending {
        SpendingMode::Open => 2,
        SpendingMode::ReadOnly => 1,
        SpendingMode::Closed => 0,
    };
    check(400, &(amounts(), amounts(), amounts(), amounts()), |(cap, warning, one, other)| {
        let at = |spent| SessionBudget {
            cap: Credits::new(cap),
            warning: Credits::new(warning),
            spent: Credits::new(spent),
        };
        let (less, more) = (at(one.min(other)), at(one.max(other)));
        prop_assert!(openness(less.spending_mode()) >= openness(more.spending_mode()));
        for budget in [less, more] {
            let closed = budget.spending_mode() == SpendingMode::Closed;
            prop_assert_eq!(closed, budget.remaining().is_zero());
        }
        Ok(())
    });
}

/// E08: a turn loaded from its session, and counted down with it, is read-only
/// exactly when the session is not open.
#[test]
fn e08_a_turn_becomes_read_only_with_its_session() {
    let spends = prop::collection::vec(amounts(), 0..10);
    check(400, &(amounts(), amounts(), amounts(), spends), |(cap, warning, spent, spends)| {
        let (cap, warning, spent) = (Credits::new(cap), Credits::new(warning), Credits::new(spent));
        let mut session = SessionBudget { cap, warning, spent };
        let mut turn = TurnBudget {
            reserved: Credits::ZERO,
            top_up: Credits::ZERO,
            session: session.remaining(),
            subagent: None,
            read_reserve: session.read_reserve(),
            team: None,
        };
        for amount in spends {
            let open = session.spending_mode() == SpendingMode::Open;
            prop_assert_eq!(turn.is_read_only(), !open, "{:?}", session);
            session.record(Credits::new(amount));
            turn.record(Credits::new(amount));
        }
        Ok(())
    });
}
