//! Table tests of the ledger; its invariants are property tests in `tests/`.

use std::time::Duration;

use super::{Charge, CostBearer, Expense, Ledger, LedgerEntry, ReserveError, Settlement};
use crate::id::{AgentId, OrgId, ReservationId};
use crate::money::Credits;
use crate::money::caps::{BudgetView, SessionBudget};
use crate::money::pools::{CreditAccount, PoolKind};
use crate::money::sharing::{CapReached, SharingPolicy};
use crate::time::Timestamp;
use crate::tool::ToolName;

const AGENCY: OrgId = OrgId::from_u128(2);
const BELLA: OrgId = OrgId::from_u128(3);
const GIA: AgentId = AgentId::from_u128(4);
const TURN: ReservationId = ReservationId::from_u128(5);
const NOW: Timestamp = Timestamp::from_millis(1000);

fn credits(n: u64) -> Credits {
    Credits::new(n)
}

fn ledger(agency: u64, bella: u64) -> Ledger {
    let mut ledger = Ledger::default();
    for (org, parent, amount) in [(AGENCY, None, agency), (BELLA, Some(AGENCY), bella)] {
        let mut account = CreditAccount::default();
        account.grant(PoolKind::Purchased, credits(amount));
        ledger.open_account(org, parent, account);
    }
    ledger
}

fn reserve(ledger: &mut Ledger, wanted: u64) -> Result<(), ReserveError> {
    let expires = NOW + Duration::from_secs(60);
    ledger.reserve(TURN, BELLA, GIA, credits(wanted), NOW, expires)
}

fn charge(expense: Expense, amount: u64) -> Charge {
    Charge { expense, amount: credits(amount) }
}

fn booking() -> Expense {
    Expense::Tool(ToolName::from_static("create_booking"))
}

fn entry(org: OrgId, expense: Expense, amount: u64, bearer: CostBearer) -> LedgerEntry {
    LedgerEntry { org, budget_owner: GIA, expense, amount: credits(amount), bearer }
}

fn available(ledger: &Ledger, org: OrgId) -> u64 {
    ledger.account(org).unwrap().available().unwrap().get()
}

/// E01, E11: model and tool cost are entries of the org, attributed to the agent.
#[test]
fn e01_model_and_tool_cost_are_charged_to_the_org() {
    let mut ledger = ledger(0, 20);
    reserve(&mut ledger, 10).unwrap();
    assert_eq!(available(&ledger, BELLA), 10);
    let settled = ledger.settle(TURN, &[charge(Expense::Model, 3), charge(booking(), 1)]);
    let entries = vec![
        entry(BELLA, Expense::Model, 3, CostBearer::Own),
        entry(BELLA, booking(), 1, CostBearer::Own),
    ];
    assert_eq!(settled, Ok(Settlement { entries, released: credits(6), overrun: credits(0) }));
    assert_eq!(available(&ledger, BELLA), 16);
}

/// E04: the parent pays for a child without credits, and both ledgers record it.
#[test]
fn e04_the_parent_pays_for_a_child_at_zero() {
    let mut ledger = ledger(50, 0);
    reserve(&mut ledger, 5).unwrap();
    let settled = ledger.settle(TURN, &[charge(Expense::Model, 2)]).unwrap();
    assert_eq!(
        settled.entries,
        [
            entry(AGENCY, Expense::Model, 2, CostBearer::ForChild(BELLA)),
            entry(BELLA, Expense::Model, 2, CostBearer::PaidByParent(AGENCY)),
        ]
    );
    assert_eq!(available(&ledger, AGENCY), 48);
    assert_eq!(ledger.shared_spending(AGENCY).used_by(BELLA, NOW.utc_day()), credits(2));
}

/// E02, E04: the child's own credits are used up first.
#[test]
fn e04_own_credits_are_used_first() {
    let mut ledger = ledger(50, 3);
    reserve(&mut ledger, 5).unwrap();
    let settled = ledger.settle(TURN, &[charge(Expense::Model, 4)]).unwrap();
    assert_eq!(settled.released, credits(1));
    assert_eq!((available(&ledger, BELLA), available(&ledger, AGENCY)), (0, 49));
}

/// A17, C22, E05-E07: a reservation that cannot be paid is refused before anything
/// changes.
#[test]
fn e05_a_refused_reservation_changes_nothing() {
    let check = |agency, bella, cap, wanted, expected: ReserveError| {
        let mut ledger = ledger(agency, bella);
        let policy = SharingPolicy { max_per_child: credits(cap), ..Default::default() };
        ledger.set_sharing_policy(AGENCY, policy);
        assert_eq!(reserve(&mut ledger, wanted), Err(expected));
        assert_eq!((available(&ledger, AGENCY), available(&ledger, BELLA)), (agency, bella));
        assert_eq!(ledger.open_reservations().count(), 0);
        assert_eq!(ledger.settle(TURN, &[]), Err(ReserveError::NotOpen(TURN)));
    };
    let exhausted = |wanted, available| ReserveError::Exhausted {
        wanted: credits(wanted),
        available: credits(available),
    };
    check(1, 1, 100, 3, exhausted(3, 2));
    check(0, 0, 100, 1, exhausted(1, 0));
    let cap = CapReached::Child { cap: credits(4), used: credits(0) };
    check(50, 1, 4, 6, ReserveError::Cap(cap));
}

/// E07: a top-level org has no parent to pay for it.
#[test]
fn e07_a_top_level_org_can_reserve_only_its_own_credits() {
    let mut ledger = ledger(2, 0);
    let refused = ledger.reserve(TURN, AGENCY, GIA, credits(3), NOW, NOW);
    let (wanted, available) = (credits(3), credits(2));
    assert_eq!(refused, Err(ReserveError::Exhausted { wanted, available }));
}

#[test]
fn a_turn_tops_up_and_a_failed_turn_releases_everything() {
    let mut ledger = ledger(0, 10);
    reserve(&mut ledger, 4).unwrap();
    ledger.top_up(TURN, credits(5), NOW).unwrap();
    assert!(ledger.top_up(TURN, credits(2), NOW).is_err());
    assert_eq!(available(&ledger, BELLA), 1);
    assert_eq!(ledger.release(TURN), Ok(credits(9)));
    assert_eq!(available(&ledger, BELLA), 10);
    assert_eq!(ledger.release(TURN), Err(ReserveError::NotOpen(TURN)));
}

/// Z05: a cost beyond the reservation is an overrun and does not overdraw the
/// account.
#[test]
fn z05_an_overrun_is_recorded_and_never_overdraws() {
    let mut ledger = ledger(0, 10);
    reserve(&mut ledger, 4).unwrap();
    let settled = ledger.settle(TURN, &[charge(Expense::Model, 6)]).unwrap();
    assert_eq!(
        settled.entries,
        [
            entry(BELLA, Expense::Model, 4, CostBearer::Own),
            entry(BELLA, Expense::Model, 2, CostBearer::Overrun),
        ]
    );
    assert_eq!(settled.overrun, credits(2));
    assert_eq!(available(&ledger, BELLA), 6);
}

/// Z05: a reservation whose turn never ended is swept after its time.
#[test]
fn z05_expired_reservations_are_released() {
    let mut ledger = ledger(0, 10);
    reserve(&mut ledger, 4).unwrap();
    assert_eq!(ledger.release_expired(NOW + Duration::from_secs(59)), []);
    assert_eq!(ledger.release_expired(NOW + Duration::from_secs(60)), [TURN]);
    assert_eq!(available(&ledger, BELLA), 10);
}

/// E14: 100 charges of one credit on a balance of 50: exactly 50 succeed.
#[test]
fn e14_fifty_credits_pay_fifty_charges() {
    let mut ledger = ledger(0, 50);
    let paid = (0..100)
        .filter(|&n| {
            let id = ReservationId::from_u128(n);
            ledger.reserve(id, BELLA, GIA, credits(1), NOW, NOW).is_ok()
                && ledger.settle(id, &[charge(Expense::Model, 1)]).is_ok()
        })
        .count();
    assert_eq!(paid, 50);
    assert_eq!(available(&ledger, BELLA), 0);
}

/// Z05: an id that is in use cannot be reserved again, so nothing leaks.
#[test]
fn z05_a_reservation_is_never_overwritten() {
    let mut ledger = ledger(0, 10);
    reserve(&mut ledger, 4).unwrap();
    assert_eq!(reserve(&mut ledger, 4), Err(ReserveError::AlreadyOpen(TURN)));
    ledger.open_account(BELLA, Some(AGENCY), CreditAccount::default());
    assert_eq!(ledger.release(TURN), Ok(credits(4)));
    assert_eq!(available(&ledger, BELLA), 10);
}

/// C21, E03: the three budgets; a top-level org has no parent's.
#[test]
fn c21_a_harness_shows_three_budgets() {
    let mut ledger = ledger(50, 3);
    let session = SessionBudget { spent: credits(8), ..SessionBudget::default() };
    let view = |org: Option<u64>, parent: Option<u64>| BudgetView {
        session_budget: credits(42),
        org_budget: org.map(Credits::new),
        parent_budget: parent.map(Credits::new),
    };
    assert_eq!(ledger.budget_view(BELLA, &session, NOW), view(Some(3), Some(50)));
    assert_eq!(ledger.affordable(BELLA, NOW), Some(credits(53)));
    reserve(&mut ledger, 5).unwrap();
    assert_eq!(ledger.budget_view(BELLA, &session, NOW), view(Some(0), Some(48)));
    assert_eq!(ledger.budget_view(AGENCY, &session, NOW), view(Some(48), None));
    let policy = SharingPolicy { max_per_child: credits(4), ..Default::default() };
    ledger.set_sharing_policy(AGENCY, policy);
    assert_eq!(ledger.budget_view(BELLA, &session, NOW), view(Some(0), Some(2)));
    ledger.open_account(OrgId::from_u128(8), None, CreditAccount::unlimited());
    assert_eq!(ledger.budget_view(OrgId::from_u128(8), &session, NOW), view(None, None));
}
