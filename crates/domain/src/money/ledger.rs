//! The ledger: reserve before a turn, settle after it, release on failure.
//!
//! This is the rule in one piece and without I/O. The store takes up the
//! accounts that an operation concerns, holds them while the rule is applied,
//! and writes back what changed.

mod entry;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Credits;
use super::caps::{BudgetView, SessionBudget};
use super::pools::{Account, Hold};
use super::sharing::{CapReached, SharedDays, SharingPolicy};
use crate::id::{AgentId, OrgId, ReservationId};
use crate::time::{Timestamp, UtcDay};

pub use entry::{Bearer, Charge, Expense, LedgerEntry};

/// Credits held for one turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// The org the turn runs in.
    pub org: OrgId,
    /// The agent that spends.
    pub budget_owner: AgentId,
    /// When the sweeper may return it.
    pub expires_at: Timestamp,
    draws: Vec<Draw>,
}

/// Part of a reservation: credits of one pool of one org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Draw {
    from: OrgId,
    day: UtcDay,
    hold: Hold,
}

impl Reservation {
    /// One that holds nothing: all that is charged to it is an overrun.
    pub const fn of_nothing(org: OrgId, budget_owner: AgentId, expires_at: Timestamp) -> Self {
        Self { org, budget_owner, expires_at, draws: Vec::new() }
    }

    /// Whether anything is held from an org other than the one it runs in.
    pub fn draws_on_parent(&self) -> bool {
        self.draws.iter().any(|draw| draw.from != self.org)
    }

    /// What is held, part by part, and from which org.
    pub fn held(&self) -> impl Iterator<Item = (OrgId, Credits)> {
        self.draws.iter().map(|draw| (draw.from, draw.hold.amount))
    }

    /// How much is held.
    pub fn amount(&self) -> Credits {
        self.draws.iter().map(|draw| draw.hold.amount).sum()
    }
}

/// Why credits cannot be reserved. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// The org, and its parent if it has one, cannot pay.
    #[error("{wanted} wanted, {available} available")]
    Exhausted {
        /// What was asked for.
        wanted: Credits,
        /// What there is, the parent's share included.
        available: Credits,
    },
    /// The parent could pay, but a cap stands in the way.
    #[error(transparent)]
    Cap(#[from] CapReached),
    /// The org has no account.
    #[error("there is no credit account for {0}")]
    NoAccount(OrgId),
    /// There is a reservation with this id.
    #[error("{0} is open already")]
    AlreadyOpen(ReservationId),
    /// The reservation does not exist or has ended.
    #[error("{0} is not an open reservation")]
    NotOpen(ReservationId),
}

/// How a reservation ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settlement {
    /// The lines to record.
    pub entries: Vec<LedgerEntry>,
    /// What was held and not needed.
    pub released: Credits,
    /// What was needed and not held; the platform bears it.
    pub overrun: Credits,
}

/// What a parent would pay for a child.
struct Share {
    parent: OrgId,
    /// What the caps leave.
    headroom: Credits,
    /// What the parent has.
    balance: Credits,
}

/// The accounts of all orgs, and what is held.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    accounts: BTreeMap<OrgId, Account>,
    parents: BTreeMap<OrgId, OrgId>,
    policies: BTreeMap<OrgId, SharingPolicy>,
    shared: BTreeMap<OrgId, SharedDays>,
    reservations: BTreeMap<ReservationId, Reservation>,
}

impl Ledger {
    /// Opens an org's account; one that is open stays as it is.
    pub fn open(&mut self, org: OrgId, parent: Option<OrgId>, account: Account) {
        self.accounts.entry(org).or_insert(account);
        if let Some(parent) = parent {
            self.parents.insert(org, parent);
        }
    }

    /// Sets what a parent pays for its children.
    pub fn set_sharing(&mut self, parent: OrgId, policy: SharingPolicy) {
        self.policies.insert(parent, policy);
    }

    /// Takes up what a parent has paid or holds for its children.
    pub fn set_shared(&mut self, parent: OrgId, shared: SharedDays) {
        self.shared.insert(parent, shared);
    }

    /// Takes up a reservation that was stored; the accounts have it already.
    pub fn take_up(&mut self, id: ReservationId, reservation: Reservation) {
        self.reservations.insert(id, reservation);
    }

    /// A reservation that is open.
    pub fn reservation(&self, id: ReservationId) -> Option<&Reservation> {
        self.reservations.get(&id)
    }

    /// An org's account.
    pub fn account(&self, org: OrgId) -> Option<&Account> {
        self.accounts.get(&org)
    }

    /// An org's account, to grant credits to it or start its periods.
    pub fn account_mut(&mut self, org: OrgId) -> Option<&mut Account> {
        self.accounts.get_mut(&org)
    }

    /// What a parent has paid or holds for its children.
    pub fn shared(&self, parent: OrgId) -> SharedDays {
        self.shared.get(&parent).cloned().unwrap_or_default()
    }

    /// What is held and not yet settled or released.
    pub fn open_reservations(&self) -> impl Iterator<Item = (&ReservationId, &Reservation)> {
        self.reservations.iter()
    }

    /// What an org could spend now, its parent's share included; none means
    /// without a limit.
    pub fn affordable(&self, org: OrgId, now: Timestamp) -> Option<Credits> {
        let own = match self.accounts.get(&org) {
            Some(account) => account.available()?,
            None => Credits::ZERO,
        };
        Some(own + self.parent_share(org, now).unwrap_or_default())
    }

    /// What an org's parent would still pay for it today; none without a parent.
    pub fn parent_share(&self, org: OrgId, now: Timestamp) -> Option<Credits> {
        self.share(org, now.utc_day()).map(|share| share.headroom.min(share.balance))
    }

    /// The three budgets that a harness shows.
    pub fn view(&self, org: OrgId, session: &SessionBudget, now: Timestamp) -> BudgetView {
        BudgetView {
            session_budget: session.remaining(),
            org_budget: self.accounts.get(&org).map_or(Some(Credits::ZERO), Account::available),
            parent_budget: self.parent_share(org, now),
        }
    }

    /// Holds `wanted` for a turn: the org's pools in order, then the parent
    /// within its caps. All of it or nothing.
    pub fn reserve(
        &mut self,
        id: ReservationId,
        org: OrgId,
        budget_owner: AgentId,
        wanted: Credits,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), ReserveError> {
        if self.reservations.contains_key(&id) {
            return Err(ReserveError::AlreadyOpen(id));
        }
        let draws = self.draw(org, wanted, now.utc_day())?;
        let reservation = Reservation { org, budget_owner, expires_at, draws };
        self.reservations.insert(id, reservation);
        Ok(())
    }

    /// Holds more for a turn that needs it. Refused, the reservation stays.
    pub fn top_up(
        &mut self,
        id: ReservationId,
        more: Credits,
        now: Timestamp,
    ) -> Result<(), ReserveError> {
        let org = self.reservations.get(&id).ok_or(ReserveError::NotOpen(id))?.org;
        let draws = self.draw(org, more, now.utc_day())?;
        if let Some(reservation) = self.reservations.get_mut(&id) {
            reservation.draws.extend(draws);
        }
        Ok(())
    }

    fn draw(
        &mut self,
        org: OrgId,
        wanted: Credits,
        day: UtcDay,
    ) -> Result<Vec<Draw>, ReserveError> {
        let account = self.accounts.get(&org).ok_or(ReserveError::NoAccount(org))?;
        let own = account.available().map_or(wanted, |available| available.min(wanted));
        let missing = wanted.saturating_sub(own);
        let parent =
            if missing.is_zero() { None } else { Some(self.parent_for(org, wanted, own, day)?) };

        let mut draws = self.hold(org, own, day);
        if let Some(parent) = parent {
            draws.extend(self.hold(parent, missing, day));
            self.shared.entry(parent).or_default().take(org, missing, day);
        }
        Ok(draws)
    }

    /// The parent that pays what `org` cannot, if it can and its caps allow.
    fn parent_for(
        &self,
        org: OrgId,
        wanted: Credits,
        own: Credits,
        day: UtcDay,
    ) -> Result<OrgId, ReserveError> {
        let missing = wanted.saturating_sub(own);
        let Some(Share { parent, headroom, balance }) = self.share(org, day) else {
            return Err(ReserveError::Exhausted { wanted, available: own });
        };
        if headroom.min(balance) >= missing {
            return Ok(parent);
        }
        // Of two obstacles the narrower one is named.
        if headroom <= balance {
            let policy = self.policies.get(&parent).cloned().unwrap_or_default();
            self.shared(parent).check(&policy, org, missing, day)?;
        }
        Err(ReserveError::Exhausted { wanted, available: own + balance.min(headroom) })
    }

    /// What an org's parent would pay for it, and what limits that.
    fn share(&self, org: OrgId, day: UtcDay) -> Option<Share> {
        let parent = *self.parents.get(&org)?;
        let policy = self.policies.get(&parent).cloned().unwrap_or_default();
        let headroom = self.shared(parent).headroom(&policy, org, day);
        let balance = match self.accounts.get(&parent) {
            Some(account) => account.available().unwrap_or(Credits::new(u64::MAX)),
            None => Credits::ZERO,
        };
        Some(Share { parent, headroom, balance })
    }

    fn hold(&mut self, from: OrgId, amount: Credits, day: UtcDay) -> Vec<Draw> {
        let holds = self.accounts.get_mut(&from).map(|account| account.hold_up_to(amount));
        holds.into_iter().flatten().map(|hold| Draw { from, day, hold }).collect()
    }

    /// Ends a reservation with what the turn really cost.
    pub fn settle(
        &mut self,
        id: ReservationId,
        charges: &[Charge],
    ) -> Result<Settlement, ReserveError> {
        let reservation = self.reservations.remove(&id).ok_or(ReserveError::NotOpen(id))?;
        let mut settlement = Settlement::default();
        let mut draws = reservation.draws.clone();
        draws.reverse();
        for charge in charges {
            let unpaid = self.pay(&reservation, charge, &mut draws, &mut settlement.entries);
            if !unpaid.is_zero() {
                settlement.overrun = settlement.overrun + unpaid;
                settlement.entries.push(LedgerEntry {
                    org: reservation.org,
                    budget_owner: reservation.budget_owner,
                    expense: charge.expense.clone(),
                    amount: unpaid,
                    bearer: Bearer::Overrun,
                });
            }
        }
        for draw in draws {
            settlement.released = settlement.released + draw.hold.amount;
            self.give_back(reservation.org, draw);
        }
        Ok(settlement)
    }

    /// Pays one charge from the draws, last first, and returns what is unpaid.
    fn pay(
        &mut self,
        reservation: &Reservation,
        charge: &Charge,
        draws: &mut Vec<Draw>,
        entries: &mut Vec<LedgerEntry>,
    ) -> Credits {
        let mut due = charge.amount;
        while !due.is_zero()
            && let Some(mut draw) = draws.pop()
        {
            let amount = draw.hold.amount.min(due);
            due = due.saturating_sub(amount);
            if let Some(account) = self.accounts.get_mut(&draw.from) {
                account.spend(Hold { amount, ..draw.hold });
            }
            push_entries(entries, reservation, charge, draw.from, amount);
            draw.hold.amount = draw.hold.amount.saturating_sub(amount);
            if !draw.hold.amount.is_zero() {
                draws.push(draw);
            }
        }
        due
    }

    fn give_back(&mut self, org: OrgId, draw: Draw) {
        if let Some(account) = self.accounts.get_mut(&draw.from) {
            account.give_back(draw.hold);
        }
        if draw.from != org {
            self.shared.entry(draw.from).or_default().give_back(org, draw.hold.amount, draw.day);
        }
    }

    /// Ends a reservation whose turn failed; all of it goes back.
    pub fn release(&mut self, id: ReservationId) -> Result<Credits, ReserveError> {
        Ok(self.settle(id, &[])?.released)
    }

    /// Returns what turns that never ended still hold.
    pub fn sweep(&mut self, now: Timestamp) -> Vec<ReservationId> {
        let orphans: Vec<ReservationId> = self
            .reservations
            .iter()
            .filter(|(_, reservation)| reservation.expires_at <= now)
            .map(|(&id, _)| id)
            .collect();
        orphans.into_iter().filter(|&id| self.release(id).is_ok()).collect()
    }
}

/// The line of the payer and, where the parent paid, the child's own line for
/// the audit. Lines for the same purpose are added up.
fn push_entries(
    entries: &mut Vec<LedgerEntry>,
    reservation: &Reservation,
    charge: &Charge,
    payer: OrgId,
    amount: Credits,
) {
    let line = |org, bearer| LedgerEntry {
        org,
        budget_owner: reservation.budget_owner,
        expense: charge.expense.clone(),
        amount,
        bearer,
    };
    let lines = if payer == reservation.org {
        vec![line(payer, Bearer::Own)]
    } else {
        vec![
            line(payer, Bearer::ForChild(reservation.org)),
            line(reservation.org, Bearer::PaidByParent(payer)),
        ]
    };
    for new in lines {
        let same = entries.iter_mut().find(|old| {
            old.org == new.org && old.expense == new.expense && old.bearer == new.bearer
        });
        match same {
            Some(old) => old.amount = old.amount + new.amount,
            None => entries.push(new),
        }
    }
}

#[cfg(test)]
mod tests;
