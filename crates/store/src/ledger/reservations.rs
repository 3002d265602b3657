//! Reservations: made before a turn, topped up during it, and released.
//!
//! On PostgreSQL they are committed without waiting for the disk: the commit of the
//! turn comes later in the same log and does wait. A crash of the machine loses a
//! reservation only together with its turn; if only the database crashes, the cost
//! of the turn becomes an overrun borne by the platform. Balances are right either way.

use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Reservation, ReserveError};
use ostler_domain::time::Timestamp;

use super::accounts::check_amount;
use super::locked_accounts::LockedAccounts;
use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

/// Credits to reserve for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewReservation {
    pub id: ReservationId,
    pub budget_owner: AgentId,
    pub amount: Credits,
    /// After this time the sweeper may release it.
    pub ttl: Duration,
}

/// What an org can spend after a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemainingCredits {
    /// The org's own credits, and its parent's if the parent pays already; `None` means
    /// no limit.
    pub affordable: Option<Credits>,
}

const ADD: Sql =
    sql!("INSERT INTO reservations (org, id, expires_at, data) VALUES (?1, ?2, ?3, ?4)");
/// Locks the reservation's row, so that no turn settles it concurrently.
const OPEN: Sql = Sql {
    sqlite: "SELECT data, expires_at FROM reservations
       WHERE org = ?1 AND id = ?2 AND charges IS NULL",
    postgres: "SELECT data, expires_at FROM reservations
       WHERE org = $1 AND id = $2 AND charges IS NULL FOR UPDATE",
};
const FIND: Sql = sql!("SELECT data, settled_at FROM reservations WHERE org = ?1 AND id = ?2");
const CHANGE: Sql =
    sql!("UPDATE reservations SET data = ?3, expires_at = ?4 WHERE org = ?1 AND id = ?2");
pub(super) const REMOVE: Sql = sql!("DELETE FROM reservations WHERE org = ?1 AND id = ?2");

impl OrgStore<'_> {
    /// Reserves credits for a turn: the org's own first, then its parent's within the
    /// caps, all or nothing. Repeating an open reservation (same id, agent and amount)
    /// changes nothing; a different one with the same id fails with
    /// [`StoreError::Conflict`].
    pub async fn reserve_credits(&self, new: NewReservation) -> Result<RemainingCredits> {
        check_amount(new.amount)?;
        let batcher = self.store.reservation_batchers.of(self.org);
        if let Some(Some(answer)) = batcher.submit((self.store.clone(), new)).await {
            return answer;
        }
        let org = self.org;
        match self.draw(move |tx| reserve(tx, org, new)).await {
            Err(refused @ (StoreError::Conflict(_) | StoreError::Credits(_))) => {
                match self.read(move |tx| find_existing(tx, org, new)).await? {
                    Some(Existing::Same) => {
                        Ok(RemainingCredits { affordable: self.affordable().await? })
                    }
                    Some(Existing::Different) => {
                        Err(StoreError::Conflict(format!("another reservation {}", new.id)))
                    }
                    None => Err(refused),
                }
            }
            result => result,
        }
    }

    /// Raises a reservation to `total` and extends it by `ttl`. If that much is reserved
    /// already, only its expiry changes, so a repeat takes nothing. On failure the
    /// reservation is unchanged.
    pub async fn top_up_reservation(
        &self,
        id: ReservationId,
        total: Credits,
        ttl: Duration,
    ) -> Result<()> {
        check_amount(total)?;
        let org = self.org;
        self.draw(move |tx| top_up(tx, org, id, total, ttl)).await
    }

    /// Releases the reservation of a failed turn and returns its amount.
    pub fn release_reservation(&self, id: ReservationId) -> StoreFuture<Credits> {
        let org = self.org;
        self.write(move |tx| release_reservation(tx, org, id, ReleaseWhen::Now))
    }

    /// Runs an operation that draws credits, without waiting for the disk. Before
    /// refusing, applies pending settlements and tries again; the settlements stay applied
    /// either way.
    async fn draw<T, F>(&self, run: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Copy + Send + 'static,
    {
        match self.write_later(run).await {
            Err(StoreError::Credits(ReserveError::Exhausted { .. } | ReserveError::Cap(_))) => {
                self.apply_settlements_with_parent().await?;
                self.write_later(run).await
            }
            result => result,
        }
    }
}

fn reserve(tx: &Tx, org: OrgId, new: NewReservation) -> Result<RemainingCredits> {
    let mut accounts = LockedAccounts::open(tx, org)?;
    let (reserved, add) = reserve_in(tx, &mut accounts, org, new)?;
    let mut statements = vec![add];
    statements.extend(accounts.write_back()?);
    tx.finish(&statements)?;
    Ok(reserved)
}

/// Reserves credits in locked accounts; returns the statement that stores the
/// reservation.
pub(super) fn reserve_in(
    tx: &Tx,
    accounts: &mut LockedAccounts,
    org: OrgId,
    new: NewReservation,
) -> Result<(RemainingCredits, Statement)> {
    let (now, expires_at) = (accounts.now, accounts.now + new.ttl);
    draw_with_parent(tx, accounts, |accounts| {
        accounts.ledger.reserve(new.id, org, new.budget_owner, new.amount, now, expires_at)
    })?;
    let reservation = Value::json(open_reservation(accounts, new.id)?)?;
    let params = vec![org.into(), new.id.into(), expires_at.as_millis().into(), reservation];
    let reserved = RemainingCredits { affordable: accounts.ledger.affordable(org, now) };
    Ok((reserved, Statement { sql: &ADD, params, on_no_rows: None }))
}

/// Draws on the org's own credits, and on its parent's if they do not suffice.
fn draw_with_parent(
    tx: &Tx,
    accounts: &mut LockedAccounts,
    mut draw: impl FnMut(&mut LockedAccounts) -> std::result::Result<(), ReserveError>,
) -> Result<()> {
    let result = match draw(accounts) {
        Err(ReserveError::Exhausted { .. }) if accounts.lock_parent(tx)? => draw(accounts),
        result => result,
    };
    Ok(result?)
}

/// How an existing reservation compares to a new one with the same id.
enum Existing {
    /// The same, and open.
    Same,
    /// A different or ended one.
    Different,
}

fn find_existing(tx: &Tx, org: OrgId, new: NewReservation) -> Result<Option<Existing>> {
    let Some(row) = tx.first(&FIND, &[org.into(), new.id.into()])? else {
        return Ok(None);
    };
    let found: Reservation = row.json(0, "reservation")?;
    let same = row.opt_int(1)?.is_none()
        && found.budget_owner == new.budget_owner
        && found.amount() == new.amount;
    Ok(Some(if same { Existing::Same } else { Existing::Different }))
}

fn open_reservation(accounts: &LockedAccounts, id: ReservationId) -> Result<&Reservation> {
    accounts.ledger.reservation(id).ok_or_else(|| ReserveError::NotOpen(id).into())
}

/// Locks and returns an open reservation.
fn lock_reservation(tx: &Tx, org: OrgId, id: ReservationId) -> Result<Reservation> {
    let row = tx.first(&OPEN, &[org.into(), id.into()])?;
    read_reservation(&row.ok_or(ReserveError::NotOpen(id))?, 0, 1)
}

/// Reads a reservation, with the expiry of its row.
pub(super) fn read_reservation(row: &Row, data: usize, expires_at: usize) -> Result<Reservation> {
    let mut reservation: Reservation = row.json(data, "reservation")?;
    reservation.expires_at = Timestamp::from_millis(row.int(expires_at)?);
    Ok(reservation)
}

fn top_up(tx: &Tx, org: OrgId, id: ReservationId, total: Credits, ttl: Duration) -> Result<()> {
    let mut accounts = LockedAccounts::open(tx, org)?;
    let reservation = lock_reservation(tx, org, id)?;
    let more = total.saturating_sub(reservation.amount());
    accounts.add_reservations(tx, vec![(id, reservation)])?;
    let now = accounts.now;
    draw_with_parent(tx, &mut accounts, |accounts| accounts.ledger.top_up(id, more, now))?;
    let reservation = Value::json(open_reservation(&accounts, id)?)?;
    let expires_at = (now + ttl).as_millis().into();
    let params = vec![org.into(), id.into(), reservation, expires_at];
    let mut statements = vec![Statement { sql: &CHANGE, params, on_no_rows: None }];
    statements.extend(accounts.write_back()?);
    tx.finish(&statements).map(drop)
}

/// When a reservation may be released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReleaseWhen {
    Now,
    /// If it has expired.
    Expired,
}

/// Ends a reservation without charges.
pub(super) fn release_reservation(
    tx: &Tx,
    org: OrgId,
    id: ReservationId,
    when: ReleaseWhen,
) -> Result<Credits> {
    let mut accounts = LockedAccounts::open(tx, org)?;
    let reservation = lock_reservation(tx, org, id)?;
    if when == ReleaseWhen::Expired && reservation.expires_at > accounts.now {
        return Err(ReserveError::NotOpen(id).into());
    }
    accounts.add_reservations(tx, vec![(id, reservation)])?;
    let released = accounts.ledger.release(id)?;
    let mut statements =
        vec![Statement { sql: &REMOVE, params: vec![org.into(), id.into()], on_no_rows: None }];
    statements.extend(accounts.write_back()?);
    tx.finish(&statements)?;
    Ok(released)
}
