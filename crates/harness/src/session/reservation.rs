//! Credits of an org that a turn holds: reserved before a model is called, settled in the
//! commit that ends the turn.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId, RunId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::money::ledger::{Charge, ReserveError};
use ostler_domain::money::price::MINIMUM_CHARGE;
use ostler_engine::turn::TurnAccount;
use ostler_store::{NewReservation, Store, StoreError, TurnCharges};

use super::Core;
use crate::config::Budget;
use crate::error::HarnessError;

/// How much longer than a turn its reservation lasts.
const MARGIN: Duration = Duration::from_secs(10 * 60);
/// Turns of a thread belong to no agent of the org.
const BUDGET_OWNER: AgentId = AgentId::from_u128(0);

/// The reservation of one turn.
pub(crate) struct TurnReservation {
    store: Store,
    payer: OrgId,
    id: ReservationId,
    ttl: Duration,
    held: Mutex<Credits>,
}

impl Core {
    /// Returns the reservation of a turn; nothing if no ledger pays.
    pub(super) fn reservation(&self, turn: RunId, held: Credits) -> Option<TurnReservation> {
        (self.config.budget == Budget::Ledger).then(|| TurnReservation {
            store: self.config.storage.clone(),
            payer: self.config.org,
            id: ReservationId::from_u128(turn.as_u128()),
            ttl: self.config.turn_timeout + MARGIN,
            held: Mutex::new(held),
        })
    }

    /// Returns what a turn may spend. The ledger reserves the smallest charge; the rest is
    /// added before each call of a model.
    pub(super) async fn fund_turn(
        &self,
        turn: RunId,
        spent: u64,
    ) -> Result<TurnBudget, HarnessError> {
        match self.reservation(turn, MINIMUM_CHARGE) {
            Some(reservation) => {
                let top_up = reservation.reserve().await?.unwrap_or(Credits::MAX_AMOUNT);
                Ok(TurnBudget { reserved: MINIMUM_CHARGE, top_up, ..self.turn_budget(spent) })
            }
            None => Ok(self.turn_budget(spent)),
        }
    }
}

/// Returns what a turn has reserved: what it has spent, and what is left.
pub(super) fn held_by(account: &TurnAccount) -> Credits {
    account.charges().iter().fold(account.budget.reserved, |sum, charge| sum + charge.amount)
}

impl TurnReservation {
    fn held(&self) -> MutexGuard<'_, Credits> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves what is held. Returns what the org has left; `None` means no limit.
    async fn reserve(&self) -> Result<Option<Credits>, HarnessError> {
        let new = NewReservation {
            id: self.id,
            budget_owner: BUDGET_OWNER,
            amount: (*self.held()).max(MINIMUM_CHARGE),
            ttl: self.ttl,
        };
        match self.store.org(self.payer).reserve_credits(new).await {
            Ok(remaining) => Ok(remaining.affordable),
            Err(StoreError::Credits(
                ReserveError::Exhausted { .. } | ReserveError::NoAccount(_) | ReserveError::Cap(_),
            )) => Err(HarnessError::NoCredits),
            Err(other) => Err(other.into()),
        }
    }

    /// Adds to the reservation. Returns what was added: all of it, or nothing if the org
    /// does not have it.
    pub(super) async fn top_up(&self, more: Credits) -> Credits {
        let total = *self.held() + more;
        match self.store.org(self.payer).top_up_reservation(self.id, total, self.ttl).await {
            Ok(()) => {
                *self.held() = total;
                more
            }
            Err(StoreError::Credits(_)) => Credits::ZERO,
            Err(error) => {
                tracing::warn!(%error, reservation = %self.id, "credits not reserved");
                Credits::ZERO
            }
        }
    }

    /// Makes the reservation last again, after the turn has waited. One that has expired
    /// meanwhile is made again, if the org still has the credits.
    pub(super) async fn renew(&self) {
        let held = *self.held();
        let extended = self.store.org(self.payer).top_up_reservation(self.id, held, self.ttl).await;
        if let Err(StoreError::Credits(ReserveError::NotOpen(_))) = extended
            && let Err(error) = self.reserve().await
        {
            tracing::warn!(%error, reservation = %self.id, "credits not reserved again");
        }
    }

    /// Returns the charges for the commit that ends the turn, and reserves what they exceed
    /// the reservation by.
    pub(super) async fn settle(&self, charges: Vec<Charge>) -> TurnCharges {
        let total = charges.iter().fold(Credits::ZERO, |sum, charge| sum + charge.amount);
        let beyond = total.saturating_sub(*self.held());
        if !beyond.is_zero() {
            self.top_up(beyond).await;
        }
        TurnCharges { payer: self.payer, reservation: self.id, budget_owner: BUDGET_OWNER, charges }
    }

    /// Returns the credits of a turn that could not be started.
    pub(super) async fn release(&self) {
        if let Err(error) = self.store.org(self.payer).release_reservation(self.id).await {
            tracing::warn!(%error, reservation = %self.id, "reservation not released");
        }
    }
}
