//! Properties of the ledger: no operation in any order loses credits, overdraws a
//! pool or exceeds a cap. Pools over days and months are in `pools`.

mod affordable;
mod model;

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Charge, Expense, Ledger, ReserveError};
use ostler_domain::money::pools::{CreditAccount, CreditPool, PoolKind};
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolName;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestCaseResult;

use crate::check;
use model::{EntryTotals, LedgerModel, cap_of, entry_key};

const PARENT: OrgId = OrgId::from_u128(1);
const CHILDREN: [OrgId; 3] = [OrgId::from_u128(2), OrgId::from_u128(3), OrgId::from_u128(4)];
const UNRELATED: OrgId = OrgId::from_u128(5);
const WITHOUT_ACCOUNT: OrgId = OrgId::from_u128(6);
const GIA: AgentId = AgentId::from_u128(7);

/// An operation on the ledger.
#[derive(Debug, Clone)]
enum Op {
    /// Does nothing if the account is open.
    Open(OrgId, Opening),
    /// Under a new id, or under one used before.
    Reserve {
        again: Option<Index>,
        org: OrgId,
        wanted: u64,
        ttl_mins: u64,
    },
    TopUp(Index, u64),
    Settle(Index, Vec<(usize, u64)>),
    Release(Index),
    Sweep,
    Wait {
        mins: u64,
    },
}

/// The initial state of an account.
#[derive(Debug, Clone, Copy)]
struct Opening {
    pools: [u64; 3],
    unlimited: bool,
}

impl Opening {
    fn account(self) -> CreditAccount {
        let [daily, monthly, purchased] = self.pools.map(|amount| {
            let amount = Credits::new(amount);
            CreditPool { granted: amount, available: amount, ..CreditPool::default() }
        });
        CreditAccount::from_pools(
            [daily, monthly, purchased, CreditPool::default()],
            self.unlimited,
        )
    }
}

fn openings() -> impl Strategy<Value = Opening> {
    let amount = || prop_oneof![1 => Just(0), 2 => 0..40u64];
    ([amount(), amount(), amount()], prop::bool::weighted(0.15))
        .prop_map(|(pools, unlimited)| Opening { pools, unlimited })
}

/// The accounts that are open from the start: most of them.
fn initial_accounts() -> impl Strategy<Value = Vec<Option<Opening>>> {
    prop::collection::vec(prop::option::weighted(0.8, openings()), 5)
}

fn orgs() -> [OrgId; 5] {
    let [one, two, three] = CHILDREN;
    [PARENT, UNRELATED, one, two, three]
}

fn parent_of(org: OrgId) -> Option<OrgId> {
    CHILDREN.contains(&org).then_some(PARENT)
}

fn ops() -> impl Strategy<Value = Op> {
    let any_org =
        select([&[PARENT, UNRELATED, WITHOUT_ACCOUNT], [CHILDREN; 3].concat().as_slice()].concat());
    // Few different lengths, so that a sweep often hits an expiry exactly.
    let ttl_mins = select(vec![0, 10, 60, 600]);
    let mins = select(vec![10, 50, 60, 600, 1500]);
    let charges = prop::collection::vec((0..3usize, 0..12u64), 0..4);
    prop_oneof![
        2 => (select(orgs().to_vec()), openings()).prop_map(|(org, with)| Op::Open(org, with)),
        8 => (prop::option::weighted(0.15, any::<Index>()), any_org, 0..20u64, ttl_mins).prop_map(
            |(again, org, wanted, ttl_mins)| Op::Reserve { again, org, wanted, ttl_mins }
        ),
        3 => (any::<Index>(), 0..15u64).prop_map(|(id, more)| Op::TopUp(id, more)),
        5 => (any::<Index>(), charges).prop_map(|(id, charges)| Op::Settle(id, charges)),
        2 => any::<Index>().prop_map(Op::Release),
        2 => Just(Op::Sweep),
        2 => mins.prop_map(|mins| Op::Wait { mins }),
    ]
}

fn policies() -> impl Strategy<Value = SharingPolicy> {
    let overrides = prop::collection::btree_map(
        select(CHILDREN.to_vec()),
        (0..30u64).prop_map(Credits::new),
        0..=2,
    );
    (0..30u64, overrides, 0..50u64).prop_map(|(child, overrides, total)| SharingPolicy {
        max_per_child: Credits::new(child),
        overrides,
        max_total: Credits::new(total),
        ..SharingPolicy::default()
    })
}

/// The ledger and its model, side by side.
struct LedgerPair {
    ledger: Ledger,
    model: LedgerModel,
    now: Timestamp,
    ids: Vec<ReservationId>,
    paid: BTreeMap<OrgId, u64>,
}

impl LedgerPair {
    fn new(policy: &SharingPolicy, initial_accounts: &[Option<Opening>]) -> Self {
        let (mut ledger, mut model) = (Ledger::default(), LedgerModel::default());
        ledger.set_sharing_policy(PARENT, policy.clone());
        model.policy = policy.clone();
        let now = Timestamp::from_millis(1_794_750_000_000);
        let mut pair = Self { ledger, model, now, ids: vec![], paid: BTreeMap::new() };
        for (org, opening) in orgs().into_iter().zip(initial_accounts) {
            if let Some(opening) = opening {
                pair.open(org, *opening);
            }
        }
        pair
    }

    fn open(&mut self, org: OrgId, opening: Opening) {
        let Opening { pools, unlimited } = opening;
        self.ledger.open_account(org, parent_of(org), opening.account());
        self.model.open_account(org, parent_of(org), pools, unlimited);
    }

    /// Returns the id of a reservation that was made once and may have ended.
    fn id(&self, index: &Index) -> ReservationId {
        if self.ids.is_empty() { ReservationId::from_u128(0) } else { *index.get(&self.ids) }
    }

    /// Applies an operation to both and returns whether it was refused.
    fn step(&mut self, op: &Op) -> Result<bool, TestCaseError> {
        let now = self.now;
        match op {
            Op::Open(org, opening) => self.open(*org, *opening),
            Op::Reserve { again, org, wanted, ttl_mins } => {
                let fresh = ReservationId::from_u128(self.ids.len() as u128 + 1);
                let id = again.as_ref().map_or(fresh, |index| self.id(index));
                self.ids.push(id);
                let expires_at = now + Duration::from_secs(ttl_mins * 60);
                let wanted_credits = Credits::new(*wanted);
                let real = self.ledger.reserve(id, *org, GIA, wanted_credits, now, expires_at);
                prop_assert_eq!(&real, &self.model.reserve(id, *org, *wanted, now, expires_at));
                return Ok(real.is_err());
            }
            Op::TopUp(index, more) => {
                let id = self.id(index);
                let real = self.ledger.top_up(id, Credits::new(*more), now);
                prop_assert_eq!(&real, &self.model.top_up(id, *more, now));
                return Ok(real.is_err());
            }
            Op::Settle(index, charges) => return self.settle(self.id(index), charges),
            Op::Release(index) => {
                let id = self.id(index);
                let real = self.ledger.release(id).map(Credits::get);
                let model = self.model.settle(id, &[]).map(|(_, released, _)| released);
                prop_assert_eq!(&real, &model);
                return Ok(real.is_err());
            }
            Op::Sweep => prop_assert_eq!(self.ledger.release_expired(now), self.model.sweep(now)),
            Op::Wait { mins } => self.now = now + Duration::from_secs(mins * 60),
        }
        Ok(false)
    }

    fn settle(
        &mut self,
        id: ReservationId,
        charges: &[(usize, u64)],
    ) -> Result<bool, TestCaseError> {
        let expenses = [
            Expense::Model,
            Expense::Tool(ToolName::from_static("send_email")),
            Expense::Tool(ToolName::from_static("create_booking")),
        ];
        let charge = |&(which, amount): &(usize, u64)| Charge {
            expense: expenses[which].clone(),
            amount: Credits::new(amount),
        };
        let charges: Vec<Charge> = charges.iter().map(charge).collect();
        let real = self.ledger.settle(id, &charges);
        let model = self.model.settle(id, &charges);
        let (Ok(real), Ok((totals, released, overrun))) = (&real, &model) else {
            prop_assert_eq!(real.err(), model.err());
            return Ok(true);
        };
        let mut found = EntryTotals::new();
        for entry in &real.entries {
            prop_assert_eq!(entry.budget_owner, GIA);
            let key = entry_key(entry.org, &entry.expense, entry.bearer);
            *found.entry(key).or_default() += entry.amount.get();
            if entry.bearer.moves_credits() {
                *self.paid.entry(entry.org).or_default() += entry.amount.get();
            }
        }
        prop_assert_eq!(&found, totals);
        prop_assert_eq!((real.released.get(), real.overrun.get()), (*released, *overrun));
        Ok(false)
    }

    /// Checks what must hold after every step.
    fn invariants(&self) -> TestCaseResult {
        let (mut reserved, day) = (0, self.now.utc_day());
        for &org in self.model.orgs.keys() {
            let account = self.ledger.account(org).cloned().unwrap_or_default();
            prop_assert!(account.is_balanced(), "{:?}", account);
            let mut spent = 0;
            for kind in PoolKind::ALL {
                let pool = *account.pool(kind);
                prop_assert_eq!(pool, self.model.pool(org, kind), "{} {:?}", org, kind);
                reserved += pool.reserved.get();
                spent += pool.spent.get();
            }
            prop_assert_eq!(spent, self.paid.get(&org).copied().unwrap_or_default());
        }
        let open = self.ledger.open_reservations();
        let open: BTreeMap<ReservationId, u64> =
            open.map(|(&id, reservation)| (id, reservation.amount().get())).collect();
        prop_assert_eq!(&open, &self.model.open());
        prop_assert_eq!(open.values().sum::<u64>(), reserved);
        let (shared, policy) = (self.ledger.shared_spending(PARENT), &self.model.policy);
        for child in CHILDREN {
            let used = shared.used_by(child, day);
            prop_assert_eq!(used.get(), self.model.shared(PARENT, Some(child), day));
            prop_assert!(used <= cap_of(policy, child), "{} for {}", used, child);
        }
        prop_assert_eq!(shared.total_used(day).get(), self.model.shared(PARENT, None, day));
        prop_assert!(
            shared.total_used(day) <= policy.max_total,
            "{} in all",
            shared.total_used(day)
        );
        Ok(())
    }
}

/// E02, E04, E05, E06, E14, Z05: after every step of any sequence, by a parent, its
/// children and an unrelated org, over several days: every pool balances and agrees
/// with the model, the reserved credits are those of open reservations, no cap is
/// exceeded, and the entries add up to what was spent; in the end nothing is
/// reserved.
#[test]
fn z05_the_ledger_agrees_with_a_model_of_single_credits() {
    let steps = prop::collection::vec(ops(), 1..60);
    check(150, &(policies(), initial_accounts(), steps), |(policy, initial_accounts, steps)| {
        let mut pair = LedgerPair::new(&policy, &initial_accounts);
        for op in &steps {
            pair.step(op)?;
            pair.invariants()?;
        }
        let open: Vec<ReservationId> = pair.ledger.open_reservations().map(|(&id, _)| id).collect();
        for id in open {
            prop_assert!(pair.ledger.release(id).is_ok());
        }
        for &org in pair.model.orgs.keys() {
            let account = pair.ledger.account(org).cloned().unwrap_or_default();
            let held = PoolKind::ALL.map(|kind| account.pool(kind).reserved);
            prop_assert_eq!(held, [Credits::ZERO; 4], "{}", org);
            prop_assert!(account.is_balanced());
        }
        Ok(())
    });
}

/// C22, E05, Z05: a refused operation leaves the ledger unchanged in every field.
#[test]
fn z05_a_refused_operation_changes_nothing() {
    let steps = prop::collection::vec(ops(), 1..40);
    check(150, &(policies(), initial_accounts(), steps), |(policy, initial_accounts, steps)| {
        let mut pair = LedgerPair::new(&policy, &initial_accounts);
        for op in &steps {
            let before = format!("{:?}", pair.ledger);
            if pair.step(op)? {
                prop_assert_eq!(format!("{:?}", pair.ledger), before);
            }
        }
        Ok(())
    });
}

fn all_reserved(ledger: &Ledger, orgs: &[OrgId]) -> u64 {
    let accounts = orgs.iter().filter_map(|&org| ledger.account(org));
    let pools = accounts.flat_map(|account| PoolKind::ALL.map(|kind| *account.pool(kind)));
    pools.map(|pool| pool.reserved.get()).sum()
}

/// Z05: a second reservation under the same id, as by a retried turn, is refused
/// while the first is open, and leaks nothing.
#[test]
fn z05_reserving_again_under_the_same_id_leaks_nothing() {
    let id = ReservationId::from_u128(1);
    check(200, &(0..20u64, 0..20u64), |(first, again)| {
        let mut ledger = Ledger::default();
        let mut account = CreditAccount::default();
        account.grant(PoolKind::Purchased, Credits::new(50));
        ledger.open_account(UNRELATED, None, account);
        let now = Timestamp::from_millis(0);
        for (wanted, expected) in [(first, Ok(())), (again, Err(ReserveError::AlreadyOpen(id)))] {
            let real = ledger.reserve(id, UNRELATED, GIA, Credits::new(wanted), now, now);
            prop_assert_eq!(real, expected);
            let held: u64 = ledger.open_reservations().map(|(_, r)| r.amount().get()).sum();
            prop_assert_eq!(all_reserved(&ledger, &[UNRELATED]), held);
        }
        prop_assert_eq!(ledger.release(id), Ok(Credits::new(first)));
        prop_assert_eq!(all_reserved(&ledger, &[UNRELATED]), 0);
        Ok(())
    });
}

/// E05, E06, Z05: the daily caps hold although the clocks of two nodes differ
/// around midnight, so that both days alternate.
#[test]
fn e05_the_caps_hold_while_two_days_alternate() {
    let turn = (select(CHILDREN.to_vec()), 0..2i64, 1..15u64);
    let turns = prop::collection::vec(turn, 1..20);
    check(200, &(policies(), turns), |(policy, turns)| {
        let unlimited = Opening { pools: [0; 3], unlimited: true };
        let nothing = Opening { pools: [0; 3], unlimited: false };
        let initial_accounts = [unlimited, nothing, nothing, nothing, nothing].map(Some);
        let mut pair = LedgerPair::new(&policy, &initial_accounts);
        let mut used: BTreeMap<(OrgId, i64), u64> = BTreeMap::new();
        for (n, (child, day, wanted)) in turns.into_iter().enumerate() {
            let id = ReservationId::from_u128(n as u128);
            let now = Timestamp::from_millis(day * 86_400_000);
            if pair.ledger.reserve(id, child, GIA, Credits::new(wanted), now, now).is_ok() {
                *used.entry((child, day)).or_default() += wanted;
            }
        }
        for (&(child, day), &used) in &used {
            prop_assert!(used <= cap_of(&policy, child).get(), "{} on day {}", child, day);
        }
        for day in 0..2 {
            let total: u64 = CHILDREN.iter().filter_map(|&child| used.get(&(child, day))).sum();
            prop_assert!(total <= policy.max_total.get(), "{} on day {}", total, day);
        }
        Ok(())
    });
}

/// E05, E06, Z05: however far the clocks of nodes differ, and whatever is released
/// in between, no cap reopens: spending on a day before the two newest counts on
/// the older of these, and no day exceeds its caps.
#[test]
fn e05_no_clock_reopens_a_cap() {
    let turn = (select(CHILDREN.to_vec()), 0..6i64, 1..15u64, prop::bool::weighted(0.3));
    let turns = prop::collection::vec(turn, 1..30);
    check(300, &(policies(), turns), |(policy, turns)| {
        let unlimited = Opening { pools: [0; 3], unlimited: true };
        let nothing = Opening { pools: [0; 3], unlimited: false };
        let initial_accounts = [unlimited, nothing, nothing, nothing, nothing].map(Some);
        let mut pair = LedgerPair::new(&policy, &initial_accounts);
        let at = |day: i64| Timestamp::from_millis(day * 86_400_000);
        // All days that anything was recorded on; the ledger may know only two.
        let mut used: BTreeMap<i64, BTreeMap<OrgId, u64>> = BTreeMap::new();
        let recorded_day = |used: &BTreeMap<i64, BTreeMap<OrgId, u64>>, day: i64| {
            used.keys().rev().nth(1).map_or(day, |&older| day.max(older))
        };
        for (n, (child, day, wanted, released)) in turns.into_iter().enumerate() {
            let id = ReservationId::from_u128(n as u128);
            let now = at(day);
            if pair.ledger.reserve(id, child, GIA, Credits::new(wanted), now, now).is_ok() {
                let on = recorded_day(&used, day);
                *used.entry(on).or_default().entry(child).or_default() += wanted;
                if released {
                    prop_assert_eq!(pair.ledger.release(id), Ok(Credits::new(wanted)));
                    // A late release is not subtracted, because its day is no longer known.
                    if let Some(of_day) = used.get_mut(&day).filter(|_| on == day) {
                        *of_day.entry(child).or_default() -= wanted;
                    }
                }
            }
            for (on, of_day) in &used {
                let total: u64 = of_day.values().sum();
                prop_assert!(total <= policy.max_total.get(), "{} on day {}", total, on);
                for (&child, &used) in of_day {
                    prop_assert!(used <= cap_of(&policy, child).get(), "{} on {}", child, on);
                }
            }
            let shared = pair.ledger.shared_spending(PARENT);
            for day in 0..7 {
                let of_day = used.get(&recorded_day(&used, day)).cloned().unwrap_or_default();
                let real = CHILDREN.map(|child| shared.used_by(child, at(day).utc_day()).get());
                let model = CHILDREN.map(|child| of_day.get(&child).copied().unwrap_or_default());
                prop_assert_eq!(real, model, "day {}", day);
            }
        }
        Ok(())
    });
}
