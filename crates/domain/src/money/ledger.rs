//! The ledger: reserve before a turn, settle in its commit, which releases the rest. A
//! reservation whose turn was never committed expires.
//!
//! The whole rule, without I/O. The store loads and locks the accounts that an
//! operation concerns, applies the rule, and writes back what changed.
//!
//! A child's own credits are used first, and its parent pays the rest of the same
//! reservation; otherwise a remainder that no message can use would stay in the
//! child's pools. A cost above the reservation is recorded as an overrun that the
//! platform bears.

mod entry;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Credits;
use super::caps::{BudgetView, SessionBudget};
use super::pools::{CreditAccount, CreditHold};
use super::sharing::{CapReached, SharedSpending, SharingPolicy};
use crate::id::{AgentId, OrgId, ReservationId};
use crate::time::{Timestamp, UtcDay};

pub use entry::{Charge, CostBearer, Expense, LedgerEntry};

/// Credits held for one turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub org: OrgId,
    pub budget_owner: AgentId,
    /// When the reservation can be released by the sweep.
    pub expires_at: Timestamp,
    draws: Vec<Draw>,
}

/// The part of a reservation from one pool of one org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Draw {
    from: OrgId,
    day: UtcDay,
    hold: CreditHold,
}

impl Reservation {
    /// Makes a reservation that holds nothing: every charge to it is an overrun.
    pub const fn empty(org: OrgId, budget_owner: AgentId, expires_at: Timestamp) -> Self {
        Self { org, budget_owner, expires_at, draws: Vec::new() }
    }

    /// Returns whether anything is held from an org other than the one it runs in.
    pub fn draws_on_parent(&self) -> bool {
        self.draws.iter().any(|draw| draw.from != self.org)
    }

    /// Iterates over the held amounts and the orgs they are held from.
    pub fn held_by_org(&self) -> impl Iterator<Item = (OrgId, Credits)> {
        self.draws.iter().map(|draw| (draw.from, draw.hold.amount))
    }

    /// Returns the total held.
    pub fn amount(&self) -> Credits {
        self.draws.iter().map(|draw| draw.hold.amount).sum()
    }
}

/// The reason why credits cannot be reserved. Nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    #[error("{wanted} wanted, {available} available")]
    Exhausted {
        wanted: Credits,
        /// What is available, including the parent's share.
        available: Credits,
    },
    /// The parent could pay, but a sharing cap is reached.
    #[error(transparent)]
    Cap(#[from] CapReached),
    #[error("there is no credit account for {0}")]
    NoAccount(OrgId),
    /// A reservation with this id is open.
    #[error("{0} is open already")]
    AlreadyOpen(ReservationId),
    #[error("{0} is not an open reservation")]
    NotOpen(ReservationId),
}

/// The result of settling a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settlement {
    pub entries: Vec<LedgerEntry>,
    /// Held and not needed.
    pub released: Credits,
    /// Needed and not held; the platform bears it.
    pub overrun: Credits,
}

/// What a parent can pay for a child.
struct ParentShare {
    parent: OrgId,
    headroom: Credits,
    balance: Credits,
}

/// The accounts of all orgs, and the open reservations.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    accounts: BTreeMap<OrgId, CreditAccount>,
    parents: BTreeMap<OrgId, OrgId>,
    policies: BTreeMap<OrgId, SharingPolicy>,
    shared: BTreeMap<OrgId, SharedSpending>,
    reservations: BTreeMap<ReservationId, Reservation>,
}

impl Ledger {
    /// Opens an org's account. Does nothing if it is open.
    pub fn open_account(&mut self, org: OrgId, parent: Option<OrgId>, account: CreditAccount) {
        self.accounts.entry(org).or_insert(account);
        if let Some(parent) = parent {
            self.parents.insert(org, parent);
        }
    }

    /// Sets the caps on what a parent pays for its children.
    pub fn set_sharing_policy(&mut self, parent: OrgId, policy: SharingPolicy) {
        self.policies.insert(parent, policy);
    }

    /// Sets what a parent has paid or holds for its children, as it was stored.
    pub fn set_shared_spending(&mut self, parent: OrgId, shared: SharedSpending) {
        self.shared.insert(parent, shared);
    }

    /// Adds a stored reservation; the accounts include it already.
    pub fn insert_reservation(&mut self, id: ReservationId, reservation: Reservation) {
        self.reservations.insert(id, reservation);
    }

    /// Returns an open reservation.
    pub fn reservation(&self, id: ReservationId) -> Option<&Reservation> {
        self.reservations.get(&id)
    }

    /// Returns an org's account.
    pub fn account(&self, org: OrgId) -> Option<&CreditAccount> {
        self.accounts.get(&org)
    }

    /// Returns an org's account, to grant credits to it or start its periods.
    pub fn account_mut(&mut self, org: OrgId) -> Option<&mut CreditAccount> {
        self.accounts.get_mut(&org)
    }

    /// Returns what a parent has paid or holds for its children.
    pub fn shared_spending(&self, parent: OrgId) -> SharedSpending {
        self.shared.get(&parent).cloned().unwrap_or_default()
    }

    /// Iterates over the open reservations.
    pub fn open_reservations(&self) -> impl Iterator<Item = (&ReservationId, &Reservation)> {
        self.reservations.iter()
    }

    /// Returns what an org can spend now, including its parent's share; `None` means
    /// unlimited.
    pub fn affordable(&self, org: OrgId, now: Timestamp) -> Option<Credits> {
        let own = match self.accounts.get(&org) {
            Some(account) => account.available()?,
            None => Credits::ZERO,
        };
        Some(own + self.parent_share(org, now).unwrap_or_default())
    }

    /// Returns what an org's parent can still pay for it today; `None` without a
    /// parent.
    pub fn parent_share(&self, org: OrgId, now: Timestamp) -> Option<Credits> {
        self.share(org, now.utc_day()).map(|share| share.headroom.min(share.balance))
    }

    /// Returns the three budgets that a harness shows.
    pub fn budget_view(&self, org: OrgId, session: &SessionBudget, now: Timestamp) -> BudgetView {
        BudgetView {
            session_budget: session.remaining(),
            org_budget: self
                .accounts
                .get(&org)
                .map_or(Some(Credits::ZERO), CreditAccount::available),
            parent_budget: self.parent_share(org, now),
        }
    }

    /// Holds `wanted` for a turn: first the org's pools in order, then the parent's
    /// within its caps. Fails unless all of it is available.
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

    /// Holds more for a turn. If it fails, the reservation stays as it was.
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
            if missing.is_zero() { None } else { Some(self.paying_parent(org, wanted, own, day)?) };

        let mut draws = self.hold(org, own, day);
        if let Some(parent) = parent {
            draws.extend(self.hold(parent, missing, day));
            self.shared.entry(parent).or_default().record(org, missing, day);
        }
        Ok(draws)
    }

    /// Returns the parent that pays what `org` cannot, if it has the credits and its
    /// caps allow it.
    fn paying_parent(
        &self,
        org: OrgId,
        wanted: Credits,
        own: Credits,
        day: UtcDay,
    ) -> Result<OrgId, ReserveError> {
        let missing = wanted.saturating_sub(own);
        let Some(ParentShare { parent, headroom, balance }) = self.share(org, day) else {
            return Err(ReserveError::Exhausted { wanted, available: own });
        };
        if headroom.min(balance) >= missing {
            return Ok(parent);
        }
        // The tighter of two limits is reported.
        if headroom <= balance {
            let policy = self.policies.get(&parent).cloned().unwrap_or_default();
            self.shared_spending(parent).check(&policy, org, missing, day)?;
        }
        Err(ReserveError::Exhausted { wanted, available: own + balance.min(headroom) })
    }

    /// Returns what an org's parent can pay for it, and the limits of that.
    fn share(&self, org: OrgId, day: UtcDay) -> Option<ParentShare> {
        let parent = *self.parents.get(&org)?;
        let policy = self.policies.get(&parent).cloned().unwrap_or_default();
        let headroom = self.shared_spending(parent).headroom(&policy, org, day);
        let balance = match self.accounts.get(&parent) {
            Some(account) => account.available().unwrap_or(Credits::new(u64::MAX)),
            None => Credits::ZERO,
        };
        Some(ParentShare { parent, headroom, balance })
    }

    fn hold(&mut self, from: OrgId, amount: Credits, day: UtcDay) -> Vec<Draw> {
        let holds = self.accounts.get_mut(&from).map(|account| account.hold_up_to(amount));
        holds.into_iter().flatten().map(|hold| Draw { from, day, hold }).collect()
    }

    /// Ends a reservation with the actual charges.
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
                    bearer: CostBearer::Overrun,
                });
            }
        }
        for draw in draws {
            settlement.released = settlement.released + draw.hold.amount;
            self.release_draw(reservation.org, draw);
        }
        Ok(settlement)
    }

    /// Pays one charge from the draws, last first, and returns the unpaid rest.
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
                account.spend(CreditHold { amount, ..draw.hold });
            }
            push_entries(entries, reservation, charge, draw.from, amount);
            draw.hold.amount = draw.hold.amount.saturating_sub(amount);
            if !draw.hold.amount.is_zero() {
                draws.push(draw);
            }
        }
        due
    }

    fn release_draw(&mut self, org: OrgId, draw: Draw) {
        if let Some(account) = self.accounts.get_mut(&draw.from) {
            account.release(draw.hold);
        }
        if draw.from != org {
            self.shared.entry(draw.from).or_default().release(org, draw.hold.amount, draw.day);
        }
    }

    /// Ends the reservation of a failed turn and returns the released amount.
    pub fn release(&mut self, id: ReservationId) -> Result<Credits, ReserveError> {
        Ok(self.settle(id, &[])?.released)
    }

    /// Releases expired reservations, whose turns never ended.
    pub fn release_expired(&mut self, now: Timestamp) -> Vec<ReservationId> {
        let expired: Vec<ReservationId> = self
            .reservations
            .iter()
            .filter(|(_, reservation)| reservation.expires_at <= now)
            .map(|(&id, _)| id)
            .collect();
        expired.into_iter().filter(|&id| self.release(id).is_ok()).collect()
    }
}

/// Adds the entry of the payer and, if the parent paid, an entry of the child for
/// the audit. Entries for the same purpose are added up.
fn push_entries(
    entries: &mut Vec<LedgerEntry>,
    reservation: &Reservation,
    charge: &Charge,
    payer: OrgId,
    amount: Credits,
) {
    let entry = |org, bearer| LedgerEntry {
        org,
        budget_owner: reservation.budget_owner,
        expense: charge.expense.clone(),
        amount,
        bearer,
    };
    let new_entries = if payer == reservation.org {
        vec![entry(payer, CostBearer::Own)]
    } else {
        vec![
            entry(payer, CostBearer::ForChild(reservation.org)),
            entry(reservation.org, CostBearer::PaidByParent(payer)),
        ]
    };
    for new in new_entries {
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
