//! An account's pools over days and months, counted coin by coin.

use std::time::Duration;

use ostler_domain::money::Credits;
use ostler_domain::money::pools::{Account, Hold, Pool, PoolKind};
use ostler_domain::org::plan::Plan;
use ostler_domain::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::check;

#[derive(Debug, Clone)]
enum Op {
    Grant(PoolKind, u64),
    Roll(Plan),
    ChangePlan(Plan),
    Hold(u64),
    Spend(Index),
    GiveBack(Index),
    Wait { hours: u64 },
}

/// The plans whose coins are few enough to count.
fn plans() -> impl Strategy<Value = Plan> {
    select(vec![Plan::Free, Plan::Starter, Plan::Pro, Plan::Enterprise])
}

fn ops() -> impl Strategy<Value = Op> {
    let pool = select(PoolKind::ORDER.to_vec());
    prop_oneof![
        2 => (pool, 0..25u64).prop_map(|(pool, amount)| Op::Grant(pool, amount)),
        4 => plans().prop_map(Op::Roll),
        1 => plans().prop_map(Op::ChangePlan),
        4 => (0..60u64).prop_map(Op::Hold),
        2 => any::<Index>().prop_map(Op::Spend),
        3 => any::<Index>().prop_map(Op::GiveBack),
        4 => select(vec![1, 20, 24, 400]).prop_map(|hours| Op::Wait { hours }),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Available,
    Held,
    Spent,
    Expired,
}

/// A credit, and the day or month that it was granted for.
#[derive(Debug, Clone, Copy)]
struct Coin {
    pool: PoolKind,
    period: (i64, u32),
    place: Place,
}

/// All coins of an account. A hold is the coins that it holds.
#[derive(Debug, Default)]
struct Coins {
    coins: Vec<Coin>,
    day: (i64, u32),
    month: (i64, u32),
    /// What plans have granted for this month.
    month_granted: u64,
    unlimited: bool,
    holds: Vec<Vec<usize>>,
}

/// What a plan with a limit grants for a month.
const fn per_month(plan: Plan) -> u64 {
    match plan {
        Plan::Starter => 100,
        Plan::Pro => 200,
        _ => 0,
    }
}

impl Coins {
    const fn period(&self, pool: PoolKind) -> (i64, u32) {
        match pool {
            PoolKind::Daily => self.day,
            PoolKind::Monthly => self.month,
            PoolKind::Purchased | PoolKind::Unmetered => (0, 0),
        }
    }

    fn grant(&mut self, pool: PoolKind, amount: u64) {
        let coin = Coin { pool, period: self.period(pool), place: Place::Available };
        self.coins.extend((0..amount).map(|_| coin));
    }

    /// A new day has 5 coins, a new month those of the plan; without a limit
    /// coins are made when they are needed. A new plan counts from then on.
    fn roll(&mut self, plan: Plan, now: Timestamp) {
        let (year, month, _) = now.utc_day().civil();
        let (new_day, new_month) =
            ((now.utc_day().number(), 0) > self.day, (year, month) > self.month);
        if new_day || new_month {
            self.unlimited = plan == Plan::Enterprise;
        }
        let daily = if plan == Plan::Enterprise { 0 } else { 5 };
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

    /// A larger plan's coins are there at once, a smaller one takes none, and
    /// the month's coins are those of the largest plan that it has seen.
    fn change_plan(&mut self, plan: Plan) {
        self.unlimited = plan == Plan::Enterprise;
        for _ in self.month_granted..per_month(plan) {
            self.grant(PoolKind::Monthly, 1);
        }
        self.month_granted = self.month_granted.max(per_month(plan));
    }

    fn expire(&mut self, pool: PoolKind) {
        for coin in &mut self.coins {
            if (coin.pool, coin.place) == (pool, Place::Available) {
                coin.place = Place::Expired;
            }
        }
    }

    /// Without a limit only coins that were made for it are held.
    fn hold(&mut self, wanted: u64) {
        if self.unlimited {
            self.grant(PoolKind::Unmetered, wanted);
        }
        let free = |&index: &usize| {
            let coin = self.coins[index];
            let made = coin.pool == PoolKind::Unmetered;
            coin.place == Place::Available && made == self.unlimited
        };
        let mut held: Vec<usize> = (0..self.coins.len()).filter(free).collect();
        held.sort_by_key(|&index| self.coins[index].pool);
        held.truncate(wanted as usize);
        for &index in &held {
            self.coins[index].place = Place::Held;
        }
        self.holds.push(held);
    }

    fn spend(&mut self, held: &[usize]) {
        for &index in held {
            self.coins[index].place = Place::Spent;
        }
    }

    fn give_back(&mut self, held: &[usize]) {
        for &index in held {
            let coin = self.coins[index];
            let lasting = coin.pool != PoolKind::Unmetered;
            let current = lasting && coin.period == self.period(coin.pool);
            self.coins[index].place = if current { Place::Available } else { Place::Expired };
        }
    }

    fn pool(&self, kind: PoolKind) -> Pool {
        let count = |place: Option<Place>| {
            let of_pool = self.coins.iter().filter(|coin| coin.pool == kind);
            let here = of_pool.filter(|coin| place.is_none_or(|place| place == coin.place));
            Credits::new(here.count() as u64)
        };
        Pool {
            granted: count(None),
            available: count(Some(Place::Available)),
            reserved: count(Some(Place::Held)),
            spent: count(Some(Place::Spent)),
            expired: count(Some(Place::Expired)),
            granted_now: Credits::ZERO,
            period: 0,
        }
    }
}

/// The holds of an account, side by side with those of the coins.
fn take<T>(holds: &mut Vec<T>, index: &Index) -> Option<T> {
    if holds.is_empty() { None } else { Some(holds.remove(index.index(holds.len()))) }
}

/// E02, Z05: over any days and months, plans and holds, every pool agrees
/// with a count coin by coin: pools are drawn in order, without a limit none of
/// them is, a new period is granted once, what is left of an old one, or comes
/// back from it, is gone, and a larger plan counts at once.
#[test]
fn e02_the_pools_agree_with_a_count_of_coins() {
    check(200, &prop::collection::vec(ops(), 0..40), |ops| {
        let (mut account, mut coins) = (Account::default(), Coins::default());
        let mut holds: Vec<Vec<Hold>> = vec![];
        let mut now = Timestamp::from_millis(1_794_750_000_000);
        for op in &ops {
            match op {
                Op::Grant(pool, amount) => {
                    account.grant(*pool, Credits::new(*amount));
                    coins.grant(*pool, *amount);
                }
                Op::Roll(plan) => {
                    account.roll(*plan, now);
                    coins.roll(*plan, now);
                }
                Op::ChangePlan(plan) => {
                    account.change_plan(*plan);
                    coins.change_plan(*plan);
                }
                Op::Hold(wanted) => {
                    holds.push(account.hold_up_to(Credits::new(*wanted)));
                    coins.hold(*wanted);
                }
                Op::Spend(index) => {
                    take(&mut holds, index).into_iter().flatten().for_each(|h| account.spend(h));
                    let held = take(&mut coins.holds, index).unwrap_or_default();
                    coins.spend(&held);
                }
                Op::GiveBack(index) => {
                    let ended = take(&mut holds, index).into_iter().flatten();
                    ended.for_each(|hold| account.give_back(hold));
                    let held = take(&mut coins.holds, index).unwrap_or_default();
                    coins.give_back(&held);
                }
                Op::Wait { hours } => now = now + Duration::from_secs(hours * 3600),
            }
            prop_assert!(account.balances(), "{:?}", account);
            let free = coins.coins.iter().filter(|coin| coin.place == Place::Available).count();
            let limit = (!coins.unlimited).then_some(Credits::new(free as u64));
            prop_assert_eq!(account.available(), limit);
            for kind in PoolKind::ALL {
                let pool = Pool { period: 0, granted_now: Credits::ZERO, ..*account.pool(kind) };
                prop_assert_eq!(pool, coins.pool(kind), "{:?}", kind);
            }
        }
        Ok(())
    });
}

/// E02, Z05: rolling is idempotent, a node whose clock is behind changes nothing,
/// and rolling often ends where rolling once does, as far as is available.
#[test]
fn z05_rolling_twice_or_late_does_nothing() {
    let hours = prop::collection::vec(0..3000u64, 1..10);
    check(400, &(plans(), hours, 0..20u64), |(plan, hours, bought)| {
        let at = |hours: u64| {
            Timestamp::from_millis(1_794_750_000_000) + Duration::from_secs(hours * 3600)
        };
        let mut account = Account::default();
        account.grant(PoolKind::Purchased, Credits::new(bought));
        let mut newest = 0;
        for hours in hours {
            let before = account.clone();
            account.roll(plan, at(hours));
            let rolled = account.clone();
            account.roll(plan, at(hours));
            prop_assert_eq!(&account, &rolled);
            if hours <= newest && newest > 0 {
                prop_assert_eq!(&account, &before);
            }
            newest = newest.max(hours);
            prop_assert_eq!(account.available().is_none(), plan == Plan::Enterprise);
            let mut once = Account::default();
            once.grant(PoolKind::Purchased, Credits::new(bought));
            once.roll(plan, at(newest));
            for kind in PoolKind::ORDER {
                let (pool, once) = (account.pool(kind), once.pool(kind));
                prop_assert_eq!((pool.available, pool.period), (once.available, once.period));
            }
        }
        Ok(())
    });
}
