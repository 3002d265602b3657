//! An org's account: three pools that are drawn on in order.

use serde::{Deserialize, Serialize};

use super::Credits;
use crate::org::plan::{Allowance, Plan};
use crate::time::Timestamp;

/// The pools, in the order they are drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolKind {
    /// Granted each UTC day; what is left expires with it.
    Daily,
    /// Granted each month; what is left expires with it.
    Monthly,
    /// Bought; never expires.
    Purchased,
    /// What an unlimited plan grants itself as it goes, so that its spending is
    /// accounted for like any other. What comes back is gone.
    Unmetered,
}

impl PoolKind {
    /// The order of drawing, where there is a limit.
    pub const ORDER: [Self; 3] = [Self::Daily, Self::Monthly, Self::Purchased];
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Daily, Self::Monthly, Self::Purchased, Self::Unmetered];
}

/// One pool. Every credit ever granted is in exactly one of the four places:
/// `granted = available + reserved + spent + expired`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pool {
    /// All that was ever granted.
    pub granted: Credits,
    /// Free to be reserved.
    pub available: Credits,
    /// Held for turns that are running.
    pub reserved: Credits,
    /// Gone.
    pub spent: Credits,
    /// Not used in its period.
    pub expired: Credits,
    /// What was granted for the present period.
    pub granted_now: Credits,
    /// Which period the available credits belong to: a count of UTC days or
    /// of months.
    pub period: i64,
}

impl Pool {
    fn grant(&mut self, amount: Credits) {
        self.granted = self.granted + amount;
        self.available = self.available + amount;
    }

    /// Grants what is missing of an allowance for the present period.
    fn grant_up_to(&mut self, allowance: Allowance<Credits>) {
        if let Allowance::UpTo(amount) = allowance {
            let missing = amount.saturating_sub(self.granted_now);
            self.granted_now = self.granted_now + missing;
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

    /// Returns held credits: to the pool, or to nobody if their period is over.
    fn give_back(&mut self, amount: Credits, period: i64) {
        self.reserved = self.reserved.saturating_sub(amount);
        if period == self.period {
            self.available = self.available + amount;
        } else {
            self.expired = self.expired + amount;
        }
    }

    /// Whether every credit is accounted for.
    pub fn balances(&self) -> bool {
        self.granted == self.available + self.reserved + self.spent + self.expired
    }
}

/// Credits held from one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The pool they came from.
    pub pool: PoolKind,
    /// The period of the pool then.
    pub period: i64,
    /// How many.
    pub amount: Credits,
}

/// The three pools of an org.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Account {
    daily: Pool,
    monthly: Pool,
    purchased: Pool,
    unmetered: Pool,
    unlimited: bool,
}

impl Account {
    /// An account from the pools that were stored.
    pub const fn from_pools(
        [daily, monthly, purchased, unmetered]: [Pool; 4],
        unlimited: bool,
    ) -> Self {
        Self { daily, monthly, purchased, unmetered, unlimited }
    }

    /// An account on a plan without a limit.
    pub fn unlimited() -> Self {
        Self { unlimited: true, ..Self::default() }
    }

    /// One of the pools.
    pub const fn pool(&self, kind: PoolKind) -> &Pool {
        match kind {
            PoolKind::Daily => &self.daily,
            PoolKind::Monthly => &self.monthly,
            PoolKind::Purchased => &self.purchased,
            PoolKind::Unmetered => &self.unmetered,
        }
    }

    const fn pool_mut(&mut self, kind: PoolKind) -> &mut Pool {
        match kind {
            PoolKind::Daily => &mut self.daily,
            PoolKind::Monthly => &mut self.monthly,
            PoolKind::Purchased => &mut self.purchased,
            PoolKind::Unmetered => &mut self.unmetered,
        }
    }

    /// What could be reserved now; none means without a limit.
    pub fn available(&self) -> Option<Credits> {
        let sum = PoolKind::ORDER.iter().map(|&kind| self.pool(kind).available).sum();
        (!self.unlimited).then_some(sum)
    }

    /// Adds bought or granted credits to a pool.
    pub fn grant(&mut self, kind: PoolKind, amount: Credits) {
        self.pool_mut(kind).grant(amount);
    }

    /// Starts the periods that are due at `now` under a plan: what is left of
    /// an old one expires, the new one is granted. Doing it twice, or with a
    /// clock that is behind, does nothing.
    pub fn roll(&mut self, plan: Plan, now: Timestamp) {
        let (year, month, _) = now.utc_day().civil();
        let due = [
            (PoolKind::Daily, now.utc_day().number(), plan.daily_credits()),
            (PoolKind::Monthly, year * 12 + i64::from(month), plan.monthly_credits()),
        ];
        for (kind, period, allowance) in due {
            let pool = self.pool_mut(kind);
            if pool.period < period {
                pool.expired = pool.expired + pool.available;
                pool.available = Credits::ZERO;
                pool.period = period;
                pool.granted_now = Credits::ZERO;
                pool.grant_up_to(allowance);
                self.unlimited = allowance == Allowance::Unlimited;
            }
        }
    }

    /// Goes over to another plan. What a larger one grants more for the month
    /// is there at once, and once only however often the plan is changed; a
    /// smaller one takes nothing back before the month ends.
    pub fn change_plan(&mut self, plan: Plan) {
        self.unlimited = plan.monthly_credits() == Allowance::Unlimited;
        self.monthly.grant_up_to(plan.monthly_credits());
    }

    /// Holds up to `wanted` from the pools in order and says what it got.
    pub fn hold_up_to(&mut self, wanted: Credits) -> Vec<Hold> {
        if self.unlimited {
            self.unmetered.grant(wanted);
            return self.hold(PoolKind::Unmetered, wanted).into_iter().collect();
        }
        let mut missing = wanted;
        let mut holds = Vec::new();
        for kind in PoolKind::ORDER {
            let held = self.hold(kind, missing);
            missing = missing.saturating_sub(held.map_or(Credits::ZERO, |hold| hold.amount));
            holds.extend(held);
        }
        holds
    }

    /// Holds up to `wanted` from one pool.
    fn hold(&mut self, kind: PoolKind, wanted: Credits) -> Option<Hold> {
        let pool = self.pool_mut(kind);
        let amount = pool.available.min(wanted);
        if amount.is_zero() {
            return None;
        }
        pool.hold(amount);
        Some(Hold { pool: kind, period: pool.period, amount })
    }

    /// Spends what was held.
    pub fn spend(&mut self, hold: Hold) {
        self.pool_mut(hold.pool).spend(hold.amount);
    }

    /// Returns what was held.
    pub fn give_back(&mut self, hold: Hold) {
        let period = match hold.pool {
            // Of no period: what an unlimited plan did not need is gone.
            PoolKind::Unmetered => i64::MIN,
            _ => hold.period,
        };
        self.pool_mut(hold.pool).give_back(hold.amount, period);
    }

    /// Whether every credit of every pool is accounted for.
    pub fn balances(&self) -> bool {
        PoolKind::ALL.iter().all(|&kind| self.pool(kind).balances())
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, Hold, Pool, PoolKind};
    use crate::money::Credits;
    use crate::org::plan::Plan;
    use crate::time::Timestamp;
    use std::time::Duration;

    fn account(daily: u64, monthly: u64, purchased: u64) -> Account {
        let mut account = Account::default();
        for (kind, amount) in PoolKind::ORDER.into_iter().zip([daily, monthly, purchased]) {
            account.grant(kind, Credits::new(amount));
        }
        account
    }

    fn left(account: &Account) -> [u64; 3] {
        PoolKind::ORDER.map(|kind| account.pool(kind).available.get())
    }

    /// E02: daily, then monthly, then purchased: 12 of 5/5/5 leaves 0/0/3.
    #[test]
    fn e02_pools_are_drawn_in_order() {
        let check = |wanted, expected| {
            let mut account = account(5, 5, 5);
            for hold in account.hold_up_to(Credits::new(wanted)) {
                account.spend(hold);
            }
            assert_eq!(left(&account), expected, "spending {wanted}");
            assert!(account.balances());
        };
        check(3, [2, 5, 5]);
        check(5, [0, 5, 5]);
        check(12, [0, 0, 3]);
        check(99, [0, 0, 0]);
    }

    fn at(day: u64) -> Timestamp {
        Timestamp::from_millis(0) + Duration::from_secs(day * 86_400)
    }

    /// A new day and a new month grant what the plan says; what is left of the
    /// old ones expires, and doing it twice changes nothing.
    #[test]
    fn periods_are_renewed_once() {
        let mut account = account(0, 0, 7);
        account.roll(Plan::Starter, at(30));
        assert_eq!(left(&account), [5, 100, 7]);
        let before = account.clone();
        account.roll(Plan::Starter, at(30));
        account.roll(Plan::Starter, at(29));
        assert_eq!(account, before);
        account.hold_up_to(Credits::new(3));
        account.roll(Plan::Starter, at(31));
        assert_eq!(left(&account), [5, 100, 7]);
        assert_eq!(account.pool(PoolKind::Daily).expired, Credits::new(2));
        assert_eq!(account.pool(PoolKind::Monthly).expired, Credits::new(100));
        assert!(account.balances());
    }

    /// What was held from an old day and comes back later is not carried over.
    #[test]
    fn a_new_day_carries_nothing_over() {
        let mut account = Account::default();
        account.roll(Plan::Free, at(30));
        let holds = account.hold_up_to(Credits::new(3));
        account.roll(Plan::Free, at(31));
        for hold in holds {
            account.give_back(hold);
        }
        assert_eq!(left(&account), [5, 0, 0]);
        assert_eq!(account.pool(PoolKind::Daily).expired, Credits::new(5));
        assert!(account.balances());
    }

    #[test]
    fn an_unlimited_account_pays_everything_and_still_balances() {
        let mut account = account(0, 0, 9);
        account.change_plan(Plan::Enterprise);
        let holds = account.hold_up_to(Credits::new(7));
        assert_eq!(holds, [Hold { pool: PoolKind::Unmetered, period: 0, amount: Credits::new(7) }]);
        account.spend(Hold { amount: Credits::new(5), ..holds[0] });
        account.give_back(Hold { amount: Credits::new(2), ..holds[0] });
        assert_eq!(account.available(), None);
        assert_eq!(left(&account), [0, 0, 9]);
        account.change_plan(Plan::Agency);
        assert_eq!(account.available(), Some(Credits::new(2009)));
        assert!(account.balances());
    }

    /// A larger plan counts at once, a smaller one from the next month on.
    #[test]
    fn a_plan_can_be_changed_within_the_month() {
        let mut account = Account::default();
        account.roll(Plan::Starter, at(30));
        account.change_plan(Plan::Pro);
        assert_eq!(left(&account), [5, 200, 0]);
        account.change_plan(Plan::Free);
        account.change_plan(Plan::Enterprise);
        account.change_plan(Plan::Pro);
        assert_eq!(left(&account), [5, 200, 0]);
        account.roll(Plan::Free, at(31));
        assert_eq!(left(&account), [5, 0, 0]);
    }

    /// Z05: a credit that is nowhere, or in two places, is noticed.
    #[test]
    fn z05_a_pool_that_does_not_add_up_is_noticed() {
        let mut pool = *account(5, 0, 0).pool(PoolKind::Daily);
        assert!(pool.balances());
        pool.spent = Credits::new(1);
        assert!(!pool.balances());
        let pools = [pool, Pool::default(), Pool::default(), Pool::default()];
        assert!(!Account::from_pools(pools, false).balances());
    }
}
