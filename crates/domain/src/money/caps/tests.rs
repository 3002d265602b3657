use super::{
    BudgetExceeded, BudgetLimit, SessionBudget, SpendingMode, TeamBudget, TeamBudgetExceeded,
    TurnBudget,
};
use crate::id::AgentId;
use crate::money::Credits;

fn credits(n: u64) -> Credits {
    Credits::new(n)
}

/// E08: read-only from 40 on, closed from 50 on.
#[test]
fn e08_a_session_is_read_only_at_40_and_closed_at_50() {
    let table = [
        (0, SpendingMode::Open),
        (39, SpendingMode::Open),
        (40, SpendingMode::ReadOnly),
        (49, SpendingMode::ReadOnly),
        (50, SpendingMode::Closed),
        (51, SpendingMode::Closed),
    ];
    for (spent, expected) in table {
        let budget = SessionBudget { spent: credits(spent), ..Default::default() };
        assert_eq!(budget.spending_mode(), expected, "{spent}");
    }
}

/// E09, E10, E11: each agent's spending is recorded, and all draw on the same
/// total.
#[test]
fn e09_a_team_spends_from_one_budget() {
    let (a, b) = (AgentId::from_u128(1), AgentId::from_u128(2));
    let mut budget = TeamBudget::new(TeamBudget::DEFAULT_TOTAL, a);
    budget.spend(a, credits(3)).unwrap();
    budget.spend(b, credits(5)).unwrap();
    assert_eq!(budget.per_agent, [(a, credits(3)), (b, credits(5))].into());
    assert_eq!(budget.remaining(), credits(92));
    budget.spend(a, credits(92)).unwrap();
    let refused = Err(TeamBudgetExceeded { wanted: credits(1), remaining: credits(0) });
    assert_eq!(budget.spend(a, credits(1)), refused);
    assert_eq!(budget.spend(b, credits(1)), refused);
    assert_eq!(budget.owner, a);
}

/// C02, C20: a turn loads its budget once, counts down in memory, and stops at the
/// tightest limit.
#[test]
fn c20_a_turn_counts_down_and_stops_at_the_tightest_limit() {
    let mut budget = TurnBudget {
        reserved: credits(10),
        top_up: credits(0),
        session: credits(4),
        subagent: None,
        read_reserve: credits(0),
        team: Some(credits(6)),
    };
    for _ in 0..4 {
        budget.spend(credits(1)).unwrap();
    }
    let after = TurnBudget {
        reserved: credits(6),
        session: credits(0),
        read_reserve: credits(0),
        team: Some(credits(2)),
        ..budget
    };
    assert_eq!(budget, after);
    let refused =
        BudgetExceeded { wanted: credits(1), remaining: credits(0), limit: BudgetLimit::Session };
    assert_eq!(budget.spend(credits(1)), Err(refused));
    assert_eq!(budget, after);
    assert_eq!(budget.check_model_call(), Err(refused));
    assert_eq!(budget.spend(credits(0)), Ok(()));
}

/// M48: what a subagent may spend is a limit like the others, and is named.
#[test]
fn m48_the_limit_of_a_subagent_is_one_of_the_budget() {
    let mut budget = TurnBudget {
        reserved: credits(10),
        top_up: credits(0),
        session: credits(50),
        subagent: Some(credits(3)),
        read_reserve: credits(0),
        team: Some(credits(6)),
    };
    budget.spend(credits(2)).unwrap();
    assert_eq!(budget.subagent, Some(credits(1)));
    let refused =
        BudgetExceeded { wanted: credits(2), remaining: credits(1), limit: BudgetLimit::Subagent };
    assert_eq!(budget.spend(credits(2)), Err(refused));
    assert_eq!(refused.to_string(), "this costs 2 credits and the subagent has 1 credit left");
    budget.refund(credits(2));
    assert_eq!(budget.tightest_limit(), (credits(3), BudgetLimit::Subagent));
}

/// C07: a tool that costs more than is reserved is affordable when the org
/// can add the rest.
#[test]
fn c07_a_reservation_is_topped_up_on_need() {
    let mut budget = TurnBudget {
        reserved: credits(1),
        top_up: credits(3),
        session: credits(50),
        subagent: None,
        read_reserve: credits(0),
        team: None,
    };
    assert_eq!(budget.check(credits(4)), Ok(()));
    let refused =
        BudgetExceeded { wanted: credits(5), remaining: credits(4), limit: BudgetLimit::Org };
    assert_eq!(budget.check(credits(5)), Err(refused));
    assert_eq!(budget.shortfall(credits(3)), credits(2));
    budget.record_top_up(credits(2));
    assert_eq!((budget.reserved, budget.top_up), (credits(3), credits(1)));
    assert_eq!(budget.shortfall(credits(3)), credits(0));
}

/// C20, E08, E10: actual spending counts, also beyond what was left, and the next
/// call is refused.
#[test]
fn c20_an_overrun_closes_the_budget() {
    let mut turn = TurnBudget {
        reserved: credits(2),
        top_up: credits(1),
        session: credits(50),
        subagent: None,
        read_reserve: credits(0),
        team: Some(credits(50)),
    };
    turn.record(credits(9));
    assert_eq!((turn.reserved, turn.top_up, turn.session), (credits(0), credits(0), credits(41)));
    assert!(turn.check_model_call().is_err());
    let agent = AgentId::from_u128(1);
    let mut team = TeamBudget::new(credits(5), agent);
    team.record(agent, credits(7));
    assert_eq!((team.remaining(), team.per_agent[&agent]), (credits(0), credits(7)));
    assert!(team.spend(agent, credits(1)).is_err());
    let mut session = SessionBudget::default();
    session.record(credits(60));
    assert_eq!(session.spending_mode(), SpendingMode::Closed);
}
