//! A simple model of the ledger, in which every credit is tracked singly. Slow and
//! obvious; the real ledger must agree with it.

use std::collections::BTreeMap;

use ostler_domain::id::{OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Charge, CostBearer, Expense, ReserveError};
use ostler_domain::money::pools::{CreditPool, PoolKind};
use ostler_domain::money::sharing::{CapReached, SharingPolicy};
use ostler_domain::time::{Timestamp, UtcDay};

/// The state of a credit. A held or spent one has its org and day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CreditState {
    Available,
    Held(OrgId, UtcDay),
    Spent(OrgId, UtcDay),
    Expired,
}

#[derive(Debug, Clone, Copy)]
struct ModelCredit {
    org: OrgId,
    pool: PoolKind,
    state: CreditState,
}

/// The amounts of a settlement by org, purpose and bearer.
pub(super) type EntryTotals = BTreeMap<(OrgId, String, String), u64>;

/// Returns the key of an entry in the totals.
pub(super) fn entry_key(
    org: OrgId,
    expense: &Expense,
    bearer: CostBearer,
) -> (OrgId, String, String) {
    (org, format!("{expense:?}"), format!("{bearer:?}"))
}

/// Returns the cap of a child: its own, or the general one.
pub(super) fn cap_of(policy: &SharingPolicy, child: OrgId) -> Credits {
    match policy.overrides.get(&child) {
        Some(own) => *own,
        None => policy.max_per_child,
    }
}

#[derive(Debug, Clone)]
struct ModelReservation {
    org: OrgId,
    expires_at: Timestamp,
    credits: Vec<usize>,
}

/// All credits and open reservations.
#[derive(Debug, Default)]
pub(super) struct LedgerModel {
    /// The parent of each org, and whether its plan is unlimited.
    pub(super) orgs: BTreeMap<OrgId, (Option<OrgId>, bool)>,
    pub(super) policy: SharingPolicy,
    credits: Vec<ModelCredit>,
    reservations: BTreeMap<ReservationId, ModelReservation>,
}

impl LedgerModel {
    /// Opens an account with these amounts in its pools. Does nothing if it is open.
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
        for (pool, amount) in PoolKind::DRAW_ORDER.into_iter().zip(pools) {
            self.grant(org, pool, amount);
        }
    }

    fn grant(&mut self, org: OrgId, pool: PoolKind, amount: u64) {
        let credit = ModelCredit { org, pool, state: CreditState::Available };
        self.credits.extend((0..amount).map(|_| credit));
    }

    fn available(&self, org: OrgId) -> Vec<usize> {
        let free = |&index: &usize| {
            self.credits[index].org == org && self.credits[index].state == CreditState::Available
        };
        let mut found: Vec<usize> = (0..self.credits.len()).filter(free).collect();
        found.sort_by_key(|&index| self.credits[index].pool);
        found
    }

    /// Returns what `parent` has spent or holds on a day, for one child or for all.
    pub(super) fn shared(&self, parent: OrgId, child: Option<OrgId>, day: UtcDay) -> u64 {
        let counts = |credit: &&ModelCredit| match credit.state {
            CreditState::Held(user, on) | CreditState::Spent(user, on) => {
                credit.org == parent
                    && user != parent
                    && on == day
                    && child.is_none_or(|child| child == user)
            }
            CreditState::Available | CreditState::Expired => false,
        };
        self.credits.iter().filter(counts).count() as u64
    }

    /// Takes credits of an org; an unlimited plan grants them on demand.
    fn take(&mut self, org: OrgId, amount: usize) -> Vec<usize> {
        if self.orgs[&org].1 {
            let first = self.credits.len();
            self.grant(org, PoolKind::Unmetered, amount as u64);
            (first..self.credits.len()).collect()
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
            self.credits[index].state = CreditState::Held(org, day);
        }
        Ok(drawn)
    }

    /// Checks that a parent has the credits and its caps allow it. If not, the caps are
    /// reported unless the credits are the tighter limit.
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
        let credits = match self.orgs.get(&parent) {
            Some((_, true)) => u64::MAX,
            _ => self.available(parent).len() as u64,
        };
        let (cap, used) = (cap_of(&self.policy, org), self.shared(parent, Some(org), day));
        let (cap_of_all, used_by_all) = (self.policy.max_total, self.shared(parent, None, day));
        let (left, left_to_all) = (cap.get() - used, cap_of_all.get() - used_by_all);
        if missing <= left && missing <= left_to_all && missing <= credits {
            Ok(())
        } else if credits < left && credits < left_to_all {
            Err(exhausted(own + credits))
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
        if self.reservations.contains_key(&id) {
            return Err(ReserveError::AlreadyOpen(id));
        }
        let credits = self.draw(org, wanted, now.utc_day())?;
        self.reservations.insert(id, ModelReservation { org, expires_at, credits });
        Ok(())
    }

    pub(super) fn top_up(
        &mut self,
        id: ReservationId,
        more: u64,
        now: Timestamp,
    ) -> Result<(), ReserveError> {
        let mut reservation =
            self.reservations.get(&id).cloned().ok_or(ReserveError::NotOpen(id))?;
        reservation.credits.extend(self.draw(reservation.org, more, now.utc_day())?);
        self.reservations.insert(id, reservation);
        Ok(())
    }

    /// Returns the totals of the entries, the released amount and the overrun.
    pub(super) fn settle(
        &mut self,
        id: ReservationId,
        charges: &[Charge],
    ) -> Result<(EntryTotals, u64, u64), ReserveError> {
        let reservation = self.reservations.remove(&id).ok_or(ReserveError::NotOpen(id))?;
        let (mut totals, mut overrun) = (EntryTotals::new(), 0);
        let mut credits = reservation.credits.into_iter();
        for charge in charges {
            for _ in 0..charge.amount.get() {
                let mut add = |org, bearer| {
                    *totals.entry(entry_key(org, &charge.expense, bearer)).or_default() += 1;
                };
                let Some(index) = credits.next() else {
                    add(reservation.org, CostBearer::Overrun);
                    overrun += 1;
                    continue;
                };
                let credit = &mut self.credits[index];
                if let CreditState::Held(org, day) = credit.state {
                    credit.state = CreditState::Spent(org, day);
                }
                if credit.org == reservation.org {
                    add(credit.org, CostBearer::Own);
                } else {
                    add(credit.org, CostBearer::ForChild(reservation.org));
                    add(reservation.org, CostBearer::PaidByParent(credit.org));
                }
            }
        }
        let mut released = 0;
        for index in credits {
            released += 1;
            let credit = &mut self.credits[index];
            let is_metered = credit.pool != PoolKind::Unmetered;
            credit.state = if is_metered { CreditState::Available } else { CreditState::Expired };
        }
        Ok((totals, released, overrun))
    }

    pub(super) fn sweep(&mut self, now: Timestamp) -> Vec<ReservationId> {
        let expired_id = |(id, reservation): (&ReservationId, &ModelReservation)| {
            (reservation.expires_at <= now).then_some(*id)
        };
        let expired: Vec<ReservationId> = self.reservations.iter().filter_map(expired_id).collect();
        expired.into_iter().filter(|&id| self.settle(id, &[]).is_ok()).collect()
    }

    /// Returns the amount of each open reservation.
    pub(super) fn open(&self) -> BTreeMap<ReservationId, u64> {
        self.reservations
            .iter()
            .map(|(&id, reservation)| (id, reservation.credits.len() as u64))
            .collect()
    }

    /// Returns a pool, counted from single credits.
    pub(super) fn pool(&self, org: OrgId, kind: PoolKind) -> CreditPool {
        let mut counts = [0u64; 5];
        for credit in self.credits.iter().filter(|credit| (credit.org, credit.pool) == (org, kind))
        {
            counts[0] += 1;
            counts[match credit.state {
                CreditState::Available => 1,
                CreditState::Held(..) => 2,
                CreditState::Spent(..) => 3,
                CreditState::Expired => 4,
            }] += 1;
        }
        let [granted, available, reserved, spent, expired] = counts.map(Credits::new);
        CreditPool { granted, available, reserved, spent, expired, ..CreditPool::default() }
    }
}
