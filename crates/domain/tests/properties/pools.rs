//! Properties of credit pools over days and months, compared with a model that
//! counts single credits.

use std::time::Duration;

use ostler_domain::money::Credits;
use ostler_domain::money::pools::{CreditAccount, CreditHold, CreditPool, PoolKind};
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::check;

#[derive(Debug, Clone)]
enum Op {
    Grant(PoolKind, u64),
    StartPeriods(LicencePlan),
    ChangePlan(LicencePlan),
    Hold(u64),
    Spend(Index),
    Release(Index),
    Wait { hours: u64 },
}

/// The plans with few enough credits to count one by one.
fn plans() -> impl Strategy<Value = LicencePlan> {
    select(vec![LicencePlan::Free, LicencePlan::Starter, LicencePlan::Pro, LicencePlan::Enterprise])
}

fn ops() -> impl Strategy<Value = Op> {
    let pool = select(PoolKind::DRAW_ORDER.to_vec());
    prop_oneof![
        2 => (pool, 0..25u64).prop_map(|(pool, amount)| Op::Grant(pool, amount)),
        4 => plans().prop_map(Op::StartPeriods),
        1 => plans().prop_map(Op::ChangePlan),
        4 => (0..60u64).prop_map(Op::Hold),
        2 => any::<Index>().prop_map(Op::Spend),
        3 => any::<Index>().prop_map(Op::Release),
        4 => select(vec![1, 20, 24, 400]).prop_map(|hours| Op::Wait { hours }),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum CreditState {
    Available,
    Held,
    Spent,
    Expired,
}

/// A single credit, and the day or month it was granted for.
#[derive(Debug, Clone, Copy)]
struct ModelCredit {
    pool: PoolKind,
    period: (i64, u32),
    state: CreditState,
}

/// The model of an account: every credit is tracked singly. A hold is a list of
/// credits.
#[derive(Debug, Default)]
struct PoolModel {
    credits: Vec<ModelCredit>,
    day: (i64, u32),
    month: (i64, u32),
    /// Granted by plans in this month.
    month_granted: u64,
    unlimited: bool,
    holds: Vec<Vec<usize>>,
}

/// Returns what a limited plan grants per month.
const fn per_month(plan: LicencePlan) -> u64 {
    match plan {
        LicencePlan::Starter => 100,
        LicencePlan::Pro => 200,
        _ => 0,
    }
}

impl PoolModel {
    const fn period(&self, pool: PoolKind) -> (i64, u32) {
        match pool {
            PoolKind::Daily => self.day,
            PoolKind::Monthly => self.month,
            PoolKind::Purchased | PoolKind::Unmetered => (0, 0),
        }
    }

    fn grant(&mut self, pool: PoolKind, amount: u64) {
        let credit = ModelCredit { pool, period: self.period(pool), state: CreditState::Available };
        self.credits.extend((0..amount).map(|_| credit));
    }

    /// A new day grants 5 credits, a new month those of the plan; an unlimited plan
    /// grants on demand. A new plan applies from then on.
    fn start_due_periods(&mut self, plan: LicencePlan, now: Timestamp) {
        let (year, month, _) = now.utc_day().civil();
        let (new_day, new_month) =
            ((now.utc_day().number(), 0) > self.day, (year, month) > self.month);
        if new_day || new_month {
            self.unlimited = plan == LicencePlan::Enterprise;
        }
        let daily = if plan == LicencePlan::Enterprise { 0 } else { 5 };
        if new_day {
            self.day = (now.utc_day().number(), 0);
            self.expire(PoolKind::Daily);
            self.grant(PoolKind::Daily, daily);
        }
        if new_month {
            self.month = (year, month);
            self.expire(PoolKind::Monthly);
            self.grant(PoolKind::Monthly, per_month(plan));
            self.month_granted = per_month(plan);
        }
    }

    /// A larger plan's credits are granted at once and a smaller one takes none back:
    /// the month has the credits of its largest plan.
    fn change_plan(&mut self, plan: LicencePlan) {
        self.unlimited = plan == LicencePlan::Enterprise;
        for _ in self.month_granted..per_month(plan) {
            self.grant(PoolKind::Monthly, 1);
        }
        self.month_granted = self.month_granted.max(per_month(plan));
    }

    fn expire(&mut self, pool: PoolKind) {
        for credit in &mut self.credits {
            if (credit.pool, credit.state) == (pool, CreditState::Available) {
                credit.state = CreditState::Expired;
            }
        }
    }

    /// An unlimited plan holds only credits granted on demand.
    fn hold(&mut self, wanted: u64) {
        if self.unlimited {
            self.grant(PoolKind::Unmetered, wanted);
        }
        let free = |&index: &usize| {
            let credit = self.credits[index];
            let on_demand = credit.pool == PoolKind::Unmetered;
            credit.state == CreditState::Available && on_demand == self.unlimited
        };
        let mut held: Vec<usize> = (0..self.credits.len()).filter(free).collect();
        held.sort_by_key(|&index| self.credits[index].pool);
        held.truncate(wanted as usize);
        for &index in &held {
            self.credits[index].state = CreditState::Held;
        }
        self.holds.push(held);
    }

    fn spend(&mut self, held: &[usize]) {
        for &index in held {
            self.credits[index].state = CreditState::Spent;
        }
    }

    fn release(&mut self, held: &[usize]) {
        for &index in held {
            let credit = self.credits[index];
            let lasting = credit.pool != PoolKind::Unmetered;
            let current = lasting && credit.period == self.period(credit.pool);
            self.credits[index].state =
                if current { CreditState::Available } else { CreditState::Expired };
        }
    }

    fn pool(&self, kind: PoolKind) -> CreditPool {
        let count = |state: Option<CreditState>| {
            let of_pool = self.credits.iter().filter(|credit| credit.pool == kind);
            let here = of_pool.filter(|credit| state.is_none_or(|state| state == credit.state));
            Credits::new(here.count() as u64)
        };
        CreditPool {
            granted: count(None),
            available: count(Some(CreditState::Available)),
            reserved: count(Some(CreditState::Held)),
            spent: count(Some(CreditState::Spent)),
            expired: count(Some(CreditState::Expired)),
            granted_this_period: Credits::ZERO,
            period: 0,
        }
    }
}

/// Removes one of the holds.
fn take<T>(holds: &mut Vec<T>, index: &Index) -> Option<T> {
    if holds.is_empty() { None } else { Some(holds.remove(index.index(holds.len()))) }
}

/// E02, Z05: over any days, months, plans and holds every pool agrees with the
/// model: pools are drawn in order, an unlimited plan draws on none of them, a
/// period is granted once, the rest of an old one expires, and a larger plan
/// applies at once.
#[test]
fn e02_the_pools_agree_with_a_model_of_single_credits() {
    check(200, &prop::collection::vec(ops(), 0..40), |ops| {
        let (mut account, mut model) = (CreditAccount::default(), PoolModel::default());
        let mut holds: Vec<Vec<CreditHold>> = vec![];
        let mut now = Timestamp::from_millis(1_794_750_000_000);
        for op in &ops {
            match op {
                Op::Grant(pool, amount) => {
                    account.grant(*pool, Credits::new(*amount));
                    model.grant(*pool, *amount);
                }
                Op::StartPeriods(plan) => {
                    account.start_due_periods(*plan, now);
                    model.start_due_periods(*plan, now);
                }
                Op::ChangePlan(plan) => {
                    account.change_plan(*plan);
                    model.change_plan(*plan);
                }
                Op::Hold(wanted) => {
                    holds.push(account.hold_up_to(Credits::new(*wanted)));
                    model.hold(*wanted);
                }
                Op::Spend(index) => {
                    take(&mut holds, index).into_iter().flatten().for_each(|h| account.spend(h));
                    let held = take(&mut model.holds, index).unwrap_or_default();
                    model.spend(&held);
                }
                Op::Release(index) => {
                    let ended = take(&mut holds, index).into_iter().flatten();
                    ended.for_each(|hold| account.release(hold));
                    let held = take(&mut model.holds, index).unwrap_or_default();
                    model.release(&held);
                }
                Op::Wait { hours } => now = now + Duration::from_secs(hours * 3600),
            }
            prop_assert!(account.is_balanced(), "{:?}", account);
            let free = model
                .credits
                .iter()
                .filter(|credit| credit.state == CreditState::Available)
                .count();
            let limit = (!model.unlimited).then_some(Credits::new(free as u64));
            prop_assert_eq!(account.available(), limit);
            for kind in PoolKind::ALL {
                let pool = CreditPool {
                    period: 0,
                    granted_this_period: Credits::ZERO,
                    ..*account.pool(kind)
                };
                prop_assert_eq!(pool, model.pool(kind), "{:?}", kind);
            }
        }
        Ok(())
    });
}

/// E02, Z05: starting periods is idempotent, a clock that is behind changes
/// nothing, and many starts leave as much available as one.
#[test]
fn z05_starting_periods_twice_or_late_does_nothing() {
    let hours = prop::collection::vec(0..3000u64, 1..10);
    check(400, &(plans(), hours, 0..20u64), |(plan, hours, bought)| {
        let at = |hours: u64| {
            Timestamp::from_millis(1_794_750_000_000) + Duration::from_secs(hours * 3600)
        };
        let mut account = CreditAccount::default();
        account.grant(PoolKind::Purchased, Credits::new(bought));
        let mut newest = 0;
        for hours in hours {
            let before = account.clone();
            account.start_due_periods(plan, at(hours));
            let started = account.clone();
            account.start_due_periods(plan, at(hours));
            prop_assert_eq!(&account, &started);
            if hours <= newest && newest > 0 {
                prop_assert_eq!(&account, &before);
            }
            newest = newest.max(hours);
            prop_assert_eq!(account.available().is_none(), plan == LicencePlan::Enterprise);
            let mut once = CreditAccount::default();
            once.grant(PoolKind::Purchased, Credits::new(bought));
            once.start_due_periods(plan, at(newest));
            for kind in PoolKind::DRAW_ORDER {
                let (pool, once) = (account.pool(kind), once.pool(kind));
                prop_assert_eq!((pool.available, pool.period), (once.available, once.period));
            }
        }
        Ok(())
    });
}
