//! An org's credit account: pools that are drawn on in a fixed order.
//!
//! Credits that are held across the end of their period expire when they are
//! released, as if they had not been held.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Credits;
use crate::org::plan::{Allowance, PeriodCredits};
use crate::time::Timestamp;

/// The pools of an account, in the order they are drawn on.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PoolKind {
    /// Granted each UTC day; the rest expires with the day.
    Daily,
    /// Granted each month; the rest expires with the month.
    Monthly,
    /// Bought; never expires.
    Purchased,
    /// Granted on demand by an unlimited plan, so that its spending is accounted for
    /// like any other. Released credits expire.
    Unmetered,
}

impl PoolKind {
    /// The pools with a limit, in the order they are drawn on.
    pub const DRAW_ORDER: [Self; 3] = [Self::Daily, Self::Monthly, Self::Purchased];
    /// All pools.
    pub const ALL: [Self; 4] = [Self::Daily, Self::Monthly, Self::Purchased, Self::Unmetered];
}

/// A pool of credits. Every credit ever granted is in exactly one of four states:
/// `granted = available + reserved + spent + expired`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CreditPool {
    /// Total ever granted.
    pub granted: Credits,
    pub available: Credits,
    /// Held for running turns.
    pub reserved: Credits,
    pub spent: Credits,
    /// Not used in its period, and gone.
    pub expired: Credits,
    /// Granted in the current period.
    pub granted_this_period: Credits,
    /// The period of the available credits: a count of UTC days or of months.
    pub period: i64,
}

impl CreditPool {
    fn grant(&mut self, amount: Credits) {
        self.granted = self.granted + amount;
        self.available = self.available + amount;
    }

    /// Grants what is missing of an allowance in the current period.
    fn grant_up_to(&mut self, allowance: Allowance<Credits>) {
        if let Allowance::UpTo(amount) = allowance {
            let missing = amount.saturating_sub(self.granted_this_period);
            self.granted_this_period = self.granted_this_period + missing;
            self.grant(missing);
        }
    }

    fn hold(&mut self, amount: Credits) {
        self.available = self.available.saturating_sub(amount);
        self.reserved = self.reserved + amount;
    }

    fn spend(&mut self, amount: Credits) {
        self.reserved = self.reserved.saturating_sub(amount);
        self.spent = self.spent + amount;
    }

    /// Releases held credits: makes them available again, or expires them if their
    /// period is over.
    fn release(&mut self, amount: Credits, period: i64) {
        self.reserved = self.reserved.saturating_sub(amount);
        if period == self.period {
            self.available = self.available + amount;
        } else {
            self.expired = self.expired + amount;
        }
    }

    /// Returns whether every credit is accounted for.
    pub fn is_balanced(&self) -> bool {
        self.granted == self.available + self.reserved + self.spent + self.expired
    }
}

/// Credits held from one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreditHold {
    pub pool: PoolKind,
    /// The period of the pool at the time.
    pub period: i64,
    pub amount: Credits,
}

/// The credit account of an org.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CreditAccount {
    daily: CreditPool,
    monthly: CreditPool,
    purchased: CreditPool,
    unmetered: CreditPool,
    unlimited: bool,
}

impl CreditAccount {
    /// Makes an account from stored pools.
    pub const fn from_pools(
        [daily, monthly, purchased, unmetered]: [CreditPool; 4],
        unlimited: bool,
    ) -> Self {
        Self { daily, monthly, purchased, unmetered, unlimited }
    }

    /// Makes an empty account on an unlimited plan.
    pub fn unlimited() -> Self {
        Self { unlimited: true, ..Self::default() }
    }

    /// Returns a pool.
    pub const fn pool(&self, kind: PoolKind) -> &CreditPool {
        match kind {
            PoolKind::Daily => &self.daily,
            PoolKind::Monthly => &self.monthly,
            PoolKind::Purchased => &self.purchased,
            PoolKind::Unmetered => &self.unmetered,
        }
    }

    const fn pool_mut(&mut self, kind: PoolKind) -> &mut CreditPool {
        match kind {
            PoolKind::Daily => &mut self.daily,
            PoolKind::Monthly => &mut self.monthly,
            PoolKind::Purchased => &mut self.purchased,
            PoolKind::Unmetered => &mut self.unmetered,
        }
    }

    /// Returns the credits that could be reserved now; `None` means unlimited.
    pub fn available(&self) -> Option<Credits> {
        let sum = PoolKind::DRAW_ORDER.iter().map(|&kind| self.pool(kind).available).sum();
        (!self.unlimited).then_some(sum)
    }

    /// Grants credits to a pool.
    pub fn grant(&mut self, kind: PoolKind, amount: Credits) {
        self.pool_mut(kind).grant(amount);
    }

    /// Starts the periods that are due at `now`: expires the rest of the old one and
    /// grants the new one. Idempotent, and a clock that is behind changes nothing.
    pub fn start_due_periods(&mut self, credits: impl Into<PeriodCredits>, now: Timestamp) {
        let credits = credits.into();
        let (year, month, _) = now.utc_day().civil();
        let due = [
            (PoolKind::Daily, now.utc_day().number(), credits.daily),
            (PoolKind::Monthly, year * 12 + i64::from(month), credits.monthly),
        ];
        for (kind, period, allowance) in due {
            let pool = self.pool_mut(kind);
            if pool.period < period {
                pool.expired = pool.expired + pool.available;
                pool.available = Credits::ZERO;
                pool.period = period;
                pool.granted_this_period = Credits::ZERO;
                pool.grant_up_to(allowance);
                self.unlimited = credits.monthly == Allowance::Unlimited;
            }
        }
    }

    /// Changes the plan. A larger plan grants the difference for the month at once, and
    /// only once however often the plan changes; a smaller one takes nothing back
    /// before the month ends.
    pub fn change_plan(&mut self, credits: impl Into<PeriodCredits>) {
        let credits = credits.into();
        self.unlimited = credits.monthly == Allowance::Unlimited;
        self.monthly.grant_up_to(credits.monthly);
    }

    /// Holds up to `wanted` from the pools in order and returns the holds.
    pub fn hold_up_to(&mut self, wanted: Credits) -> Vec<CreditHold> {
        if self.unlimited {
            self.unmetered.grant(wanted);
            return self.hold(PoolKind::Unmetered, wanted).into_iter().collect();
        }
        let mut missing = wanted;
        let mut holds = Vec::new();
        for kind in PoolKind::DRAW_ORDER {
            let held = self.hold(kind, missing);
            missing = missing.saturating_sub(held.map_or(Credits::ZERO, |hold| hold.amount));
            holds.extend(held);
        }
        holds
    }

    /// Holds up to `wanted` from one pool.
    fn hold(&mut self, kind: PoolKind, wanted: Credits) -> Option<CreditHold> {
        let pool = self.pool_mut(kind);
        let amount = pool.available.min(wanted);
        if amount.is_zero() {
            return None;
        }
        pool.hold(amount);
        Some(CreditHold { pool: kind, period: pool.period, amount })
    }

    /// Spends held credits.
    pub fn spend(&mut self, hold: CreditHold) {
        self.pool_mut(hold.pool).spend(hold.amount);
    }

    /// Releases held credits.
    pub fn release(&mut self, hold: CreditHold) {
        let period = match hold.pool {
            // Matches no period, so that the credits expire.
            PoolKind::Unmetered => i64::MIN,
            _ => hold.period,
        };
        self.pool_mut(hold.pool).release(hold.amount, period);
    }

    /// Returns whether every credit of every pool is accounted for.
    pub fn is_balanced(&self) -> bool {
        PoolKind::ALL.iter().all(|&kind| self.pool(kind).is_balanced())
    }
}

#[cfg(test)]
mod tests {
    use super::{CreditAccount, CreditHold, CreditPool, PoolKind};
    use crate::money::Credits;
    use crate::org::plan::LicencePlan;
    use crate::time::Timestamp;
    use std::time::Duration;

    fn account(daily: u64, monthly: u64, purchased: u64) -> CreditAccount {
        let mut account = CreditAccount::default();
        for (kind, amount) in PoolKind::DRAW_ORDER.into_iter().zip([daily, monthly, purchased]) {
            account.grant(kind, Credits::new(amount));
        }
        account
    }

    fn available(account: &CreditAccount) -> [u64; 3] {
        PoolKind::DRAW_ORDER.map(|kind| account.pool(kind).available.get())
    }

    /// E02: daily, then monthly, then purchased: 12 of 5/5/5 leaves 0/0/3.
    #[test]
    fn e02_pools_are_drawn_in_order() {
        let check = |wanted, expected| {
            let mut account = account(5, 5, 5);
            for hold in account.hold_up_to(Credits::new(wanted)) {
                account.spend(hold);
            }
            assert_eq!(available(&account), expected, "spending {wanted}");
            assert!(account.is_balanced());
        };
        check(3, [2, 5, 5]);
        check(5, [0, 5, 5]);
        check(12, [0, 0, 3]);
        check(99, [0, 0, 0]);
    }

    fn at(day: u64) -> Timestamp {
        Timestamp::from_millis(0) + Duration::from_secs(day * 86_400)
    }

    /// A new day and a new month grant what the plan says; the rest of the old ones
    /// expires, and a second call changes nothing.
    #[test]
    fn periods_are_granted_once() {
        let mut account = account(0, 0, 7);
        account.start_due_periods(LicencePlan::Starter, at(30));
        assert_eq!(available(&account), [5, 100, 7]);
        let before = account.clone();
        account.start_due_periods(LicencePlan::Starter, at(30));
        account.start_due_periods(LicencePlan::Starter, at(29));
        assert_eq!(account, before);
        account.hold_up_to(Credits::new(3));
        account.start_due_periods(LicencePlan::Starter, at(31));
        assert_eq!(available(&account), [5, 100, 7]);
        assert_eq!(account.pool(PoolKind::Daily).expired, Credits::new(2));
        assert_eq!(account.pool(PoolKind::Monthly).expired, Credits::new(100));
        assert!(account.is_balanced());
    }

    /// Credits held on an old day and released later expire.
    #[test]
    fn a_new_day_carries_nothing_over() {
        let mut account = CreditAccount::default();
        account.start_due_periods(LicencePlan::Free, at(30));
        let holds = account.hold_up_to(Credits::new(3));
        account.start_due_periods(LicencePlan::Free, at(31));
        for hold in holds {
            account.release(hold);
        }
        assert_eq!(available(&account), [5, 0, 0]);
        assert_eq!(account.pool(PoolKind::Daily).expired, Credits::new(5));
        assert!(account.is_balanced());
    }

    #[test]
    fn an_unlimited_account_pays_everything_and_still_balances() {
        let mut account = account(0, 0, 9);
        account.change_plan(LicencePlan::Enterprise);
        let holds = account.hold_up_to(Credits::new(7));
        assert_eq!(
            holds,
            [CreditHold { pool: PoolKind::Unmetered, period: 0, amount: Credits::new(7) }]
        );
        account.spend(CreditHold { amount: Credits::new(5), ..holds[0] });
        account.release(CreditHold { amount: Credits::new(2), ..holds[0] });
        assert_eq!(account.available(), None);
        assert_eq!(available(&account), [0, 0, 9]);
        account.change_plan(LicencePlan::Agency);
        assert_eq!(account.available(), Some(Credits::new(2009)));
        assert!(account.is_balanced());
    }

    /// A larger plan applies at once, a smaller one from the next month.
    #[test]
    fn a_larger_plan_applies_at_once_and_a_smaller_one_next_month() {
        let mut account = CreditAccount::default();
        account.start_due_periods(LicencePlan::Starter, at(30));
        account.change_plan(LicencePlan::Pro);
        assert_eq!(available(&account), [5, 200, 0]);
        account.change_plan(LicencePlan::Free);
        account.change_plan(LicencePlan::Enterprise);
        account.change_plan(LicencePlan::Pro);
        assert_eq!(available(&account), [5, 200, 0]);
        account.start_due_periods(LicencePlan::Free, at(31));
        assert_eq!(available(&account), [5, 0, 0]);
    }

    /// Z05: a missing or doubled credit is detected.
    #[test]
    fn z05_a_pool_that_does_not_balance_is_detected() {
        let mut pool = *account(5, 0, 0).pool(PoolKind::Daily);
        assert!(pool.is_balanced());
        pool.spent = Credits::new(1);
        assert!(!pool.is_balanced());
        let pools = [pool, CreditPool::default(), CreditPool::default(), CreditPool::default()];
        assert!(!CreditAccount::from_pools(pools, false).is_balanced());
    }
}
