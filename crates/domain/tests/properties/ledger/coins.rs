//! The ledger a second time, as simply as can be: every credit is a coin that
//! lies somewhere. Slow and obvious; the real one must agree with it.

use std::collections::BTreeMap;

use ostler_domain::id::{OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Bearer, Charge, Expense, ReserveError};
use ostler_domain::money::pools::{Pool, PoolKind};
use ostler_domain::money::sharing::{CapReached, SharingPolicy};
use ostler_domain::time::{Timestamp, UtcDay};

/// Where a coin lies. A used one knows for which org and on which day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Available,
    Held(OrgId, UtcDay),
    Spent(OrgId, UtcDay),
    Expired,
}

#[derive(Debug, Clone, Copy)]
struct Coin {
    org: OrgId,
    pool: PoolKind,
    place: Place,
}

/// The lines of a settlement, added up by org, purpose and bearer.
pub(super) type Lines = BTreeMap<(OrgId, String, String), u64>;

/// What a line is added up under.
pub(super) fn line(org: OrgId, expense: &Expense, bearer: Bearer) -> (OrgId, String, String) {
    (org, format!("{expense:?}"), format!("{bearer:?}"))
}

/// The cap of a child: its own, else the general one.
pub(super) fn cap_of(policy: &SharingPolicy, child: OrgId) -> Credits {
    match policy.overrides.get(&child) {
        Some(own) => *own,
        None => policy.max_per_child,
    }
}

#[derive(Debug, Clone)]
struct Held {
    org: OrgId,
    expires_at: Timestamp,
    coins: Vec<usize>,
}

/// All coins, and who holds which.
#[derive(Debug, Default)]
pub(super) struct Coins {
    /// Each org with its parent, and whether its plan is without a limit.
    pub(super) orgs: BTreeMap<OrgId, (Option<OrgId>, bool)>,
    pub(super) policy: SharingPolicy,
    coins: Vec<Coin>,
    held: BTreeMap<ReservationId, Held>,
}

impl Coins {
    /// Opens an account with so much in each pool; one that is open stays.
    pub(super) fn open_account(
        &mut self,
        org: OrgId,
        parent: Option<OrgId>,
        pools: [u64; 3],
        unlimited: bool,
    ) {
        if self.orgs.contains_key(&org) {
            return;
        }
        self.orgs.insert(org, (parent, unlimited));
        for (pool, amount) in PoolKind::ORDER.into_iter().zip(pools) {
            self.grant(org, pool, amount);
        }
    }

    fn grant(&mut self, org: OrgId, pool: PoolKind, amount: u64) {
        let coin = Coin { org, pool, place: Place::Available };
        self.coins.extend((0..amount).map(|_| coin));
    }

    fn available(&self, org: OrgId) -> Vec<usize> {
        let free = |&index: &usize| {
            self.coins[index].org == org && self.coins[index].place == Place::Available
        };
        let mut found: Vec<usize> = (0..self.coins.len()).filter(free).collect();
        found.sort_by_key(|&index| self.coins[index].pool);
        found
    }

    /// What `parent` has spent or holds on a day, for one child or for all.
    pub(super) fn shared(&self, parent: OrgId, child: Option<OrgId>, day: UtcDay) -> u64 {
        let counts = |coin: &&Coin| match coin.place {
            Place::Held(user, on) | Place::Spent(user, on) => {
                coin.org == parent
                    && user != parent
                    && on == day
                    && child.is_none_or(|child| child == user)
            }
            Place::Available | Place::Expired => false,
        };
        self.coins.iter().filter(counts).count() as u64
    }

    /// So many coins of an org; without a limit they are made for it.
    fn take(&mut self, org: OrgId, amount: usize) -> Vec<usize> {
        if self.orgs[&org].1 {
            let made = self.coins.len();
            self.grant(org, PoolKind::Unmetered, amount as u64);
            (made..self.coins.len()).collect()
        } else {
            self.available(org).into_iter().take(amount).collect()
        }
    }

    fn draw(&mut self, org: OrgId, wanted: u64, day: UtcDay) -> Result<Vec<usize>, ReserveError> {
        let &(parent, unlimited) = self.orgs.get(&org).ok_or(ReserveError::NoAccount(org))?;
        let own = self.available(org).len() as u64;
        if !unlimited && own < wanted {
            self.check_parent(org, parent, wanted, own, day)?;
        }
        let mut drawn = self.take(org, wanted as usize);
        let missing = wanted as usize - drawn.len();
        if let Some(parent) = parent.filter(|_| missing > 0) {
            drawn.extend(self.take(parent, missing));
        }
        for &index in &drawn {
            self.coins[index].place = Place::Held(org, day);
        }
        Ok(drawn)
    }

    /// A parent pays what both its caps and its coins reach for. If not, the
    /// caps are named unless the coins are fewer.
    fn check_parent(
        &self,
        org: OrgId,
        parent: Option<OrgId>,
        wanted: u64,
        own: u64,
        day: UtcDay,
    ) -> Result<(), ReserveError> {
        let exhausted = |available| ReserveError::Exhausted {
            wanted: Credits::new(wanted),
            available: Credits::new(available),
        };
        let parent = parent.ok_or_else(|| exhausted(own))?;
        let missing = wanted - own;
        let coins = match self.orgs.get(&parent) {
            Some((_, true)) => u64::MAX,
            _ => self.available(parent).len() as u64,
        };
        let (cap, used) = (cap_of(&self.policy, org), self.shared(parent, Some(org), day));
        let (cap_of_all, used_by_all) = (self.policy.max_total, self.shared(parent, None, day));
        let (left, left_to_all) = (cap.get() - used, cap_of_all.get() - used_by_all);
        if missing <= left && missing <= left_to_all && missing <= coins {
            Ok(())
        } else if coins < left && coins < left_to_all {
            Err(exhausted(own + coins))
        } else if missing > left {
            Err(CapReached::Child { cap, used: Credits::new(used) }.into())
        } else {
            Err(CapReached::Total { cap: cap_of_all, used: Credits::new(used_by_all) }.into())
        }
    }

    pub(super) fn reserve(
        &mut self,
        id: ReservationId,
        org: OrgId,
        wanted: u64,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), ReserveError> {
        if self.held.contains_key(&id) {
            return Err(ReserveError::AlreadyOpen(id));
        }
        let coins = self.draw(org, wanted, now.utc_day())?;
        self.held.insert(id, Held { org, expires_at, coins });
        Ok(())
    }

    pub(super) fn top_up(
        &mut self,
        id: ReservationId,
        more: u64,
        now: Timestamp,
    ) -> Result<(), ReserveError> {
        let mut held = self.held.get(&id).cloned().ok_or(ReserveError::NotOpen(id))?;
        held.coins.extend(self.draw(held.org, more, now.utc_day())?);
        self.held.insert(id, held);
        Ok(())
    }

    /// The lines, what went back, and the overrun.
    pub(super) fn settle(
        &mut self,
        id: ReservationId,
        charges: &[Charge],
    ) -> Result<(Lines, u64, u64), ReserveError> {
        let held = self.held.remove(&id).ok_or(ReserveError::NotOpen(id))?;
        let (mut lines, mut overrun) = (Lines::new(), 0);
        let mut coins = held.coins.into_iter();
        for charge in charges {
            for _ in 0..charge.amount.get() {
                let mut add = |org, bearer| {
                    *lines.entry(line(org, &charge.expense, bearer)).or_default() += 1;
                };
                let Some(index) = coins.next() else {
                    add(held.org, Bearer::Overrun);
                    overrun += 1;
                    continue;
                };
                let coin = &mut self.coins[index];
                if let Place::Held(org, day) = coin.place {
                    coin.place = Place::Spent(org, day);
                }
                if coin.org == held.org {
                    add(coin.org, Bearer::Own);
                } else {
                    add(coin.org, Bearer::ForChild(held.org));
                    add(held.org, Bearer::PaidByParent(coin.org));
                }
            }
        }
        let mut released = 0;
        for index in coins {
            released += 1;
            let coin = &mut self.coins[index];
            let lasting = coin.pool != PoolKind::Unmetered;
            coin.place = if lasting { Place::Available } else { Place::Expired };
        }
        Ok((lines, released, overrun))
    }

    pub(super) fn sweep(&mut self, now: Timestamp) -> Vec<ReservationId> {
        let over = |(id, held): (&ReservationId, &Held)| (held.expires_at <= now).then_some(*id);
        let orphans: Vec<ReservationId> = self.held.iter().filter_map(over).collect();
        orphans.into_iter().filter(|&id| self.settle(id, &[]).is_ok()).collect()
    }

    /// How much each open reservation holds.
    pub(super) fn open(&self) -> BTreeMap<ReservationId, u64> {
        self.held.iter().map(|(&id, held)| (id, held.coins.len() as u64)).collect()
    }

    /// A pool, counted coin by coin.
    pub(super) fn pool(&self, org: OrgId, kind: PoolKind) -> Pool {
        let mut counts = [0u64; 5];
        for coin in self.coins.iter().filter(|coin| (coin.org, coin.pool) == (org, kind)) {
            counts[0] += 1;
            counts[match coin.place {
                Place::Available => 1,
                Place::Held(..) => 2,
                Place::Spent(..) => 3,
                Place::Expired => 4,
            }] += 1;
        }
        let [granted, available, reserved, spent, expired] = counts.map(Credits::new);
        Pool { granted, available, reserved, spent, expired, ..Pool::default() }
    }
}
