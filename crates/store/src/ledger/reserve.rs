//! Reserving before a turn, more of it during the turn, and giving it back.

use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Reservation, ReserveError};
use ostler_domain::time::Timestamp;

use super::book::Book;
use super::settle;
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::Result;

/// Credits to hold for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewReservation {
    /// Its id.
    pub id: ReservationId,
    /// The agent that spends.
    pub budget_owner: AgentId,
    /// How much.
    pub amount: Credits,
    /// After so long the sweeper may return it.
    pub lasts: Duration,
}

const ADD: Sql =
    sql!("INSERT INTO reservations (org, id, expires_at, data) VALUES (?1, ?2, ?3, ?4)");
/// Holds the reservation's row, so that no turn settles it meanwhile.
const OPEN: Sql = Sql {
    sqlite: "SELECT data, expires_at FROM reservations
       WHERE org = ?1 AND id = ?2 AND charges IS NULL",
    postgres: "SELECT data, expires_at FROM reservations
       WHERE org = $1 AND id = $2 AND charges IS NULL FOR UPDATE",
};
const CHANGE: Sql =
    sql!("UPDATE reservations SET data = ?3, expires_at = ?4 WHERE org = ?1 AND id = ?2");
pub(super) const REMOVE: Sql = sql!("DELETE FROM reservations WHERE org = ?1 AND id = ?2");

impl OrgStore<'_> {
    /// Holds credits for a turn: the org's own first, then its parent's within
    /// the caps. All of it or nothing.
    pub async fn reserve(&self, new: NewReservation) -> Result<()> {
        self.store.write(Reserve(self.org, new)).await
    }

    /// Holds more for a turn that needs it, and all of it for another `lasts`.
    /// Refused, the reservation stays as it was.
    pub async fn top_up(&self, id: ReservationId, more: Credits, lasts: Duration) -> Result<()> {
        self.store.write(TopUp(self.org, id, more, lasts)).await
    }

    /// Gives back what a turn that failed had held, and says how much it was.
    pub async fn release(&self, id: ReservationId) -> Result<Credits> {
        self.store.write(Release(self.org, id)).await
    }
}

/// What comes after it, the turn's commit, is flushed to the disk and this
/// with it; until then a crash that takes the reservation takes the turn too.
struct Reserve(OrgId, NewReservation);

impl Operation for Reserve {
    type Output = ();
    const FLUSHED: bool = false;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, new) = *self;
        let mut book = Book::open(tx, org).await?;
        let expires_at = book.now + new.lasts;
        let now = book.now;
        let mut all = drawn(tx, org, &mut book, |book| {
            book.ledger.reserve(new.id, org, new.budget_owner, new.amount, now, expires_at)
        })
        .await?;
        let reservation = open(&book, new.id)?;
        let params = vec![
            org.into(),
            new.id.into(),
            expires_at.as_millis().into(),
            Value::json(reservation)?,
        ];
        all.push(Statement { sql: &ADD, params, must: None });
        all.extend(book.write_back()?);
        tx.finish(&all).await.map(|_| ())
    }
}

/// Draws on the org's own credits. If they are not enough, what other turns
/// left over is given back first, and then the parent is asked.
async fn drawn<T: Tx>(
    tx: &T,
    org: OrgId,
    book: &mut Book,
    mut draw: impl FnMut(&mut Book) -> std::result::Result<(), ReserveError>,
) -> Result<Vec<Statement>> {
    let first = draw(book);
    if !matches!(first, Err(ReserveError::Exhausted { .. })) {
        return Ok(first.map(|()| Vec::new())?);
    }
    let (applied, all) = settle::apply(tx, org, book).await?;
    let second = if applied == 0 { first } else { draw(book) };
    let last = match second {
        Err(ReserveError::Exhausted { .. }) if book.with_parent(tx).await? => draw(book),
        other => other,
    };
    last?;
    Ok(all)
}

fn open(book: &Book, id: ReservationId) -> Result<&Reservation> {
    book.ledger.reservation(id).ok_or_else(|| ReserveError::NotOpen(id).into())
}

/// A reservation that is open, from its row.
async fn load<T: Tx>(tx: &T, org: OrgId, id: ReservationId) -> Result<Reservation> {
    let row = tx.first(&OPEN, &[org.into(), id.into()]).await?;
    from_row(&row.ok_or(ReserveError::NotOpen(id))?, 0, 1)
}

/// A reservation, with the time that its row says.
pub(super) fn from_row(row: &Row, data: usize, expires_at: usize) -> Result<Reservation> {
    let mut reservation: Reservation = row.json(data, "reservation")?;
    reservation.expires_at = Timestamp::from_millis(row.int(expires_at)?);
    Ok(reservation)
}

struct TopUp(OrgId, ReservationId, Credits, Duration);

impl Operation for TopUp {
    type Output = ();
    const FLUSHED: bool = false;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, id, more, lasts) = *self;
        let mut book = Book::open(tx, org).await?;
        let reservation = load(tx, org, id).await?;
        book.take_up(tx, id, reservation).await?;
        let now = book.now;
        let mut all = drawn(tx, org, &mut book, |book| book.ledger.top_up(id, more, now)).await?;
        let reservation = Value::json(open(&book, id)?)?;
        let expires_at = (now + lasts).as_millis().into();
        let params = vec![org.into(), id.into(), reservation, expires_at];
        all.push(Statement { sql: &CHANGE, params, must: None });
        all.extend(book.write_back()?);
        tx.finish(&all).await.map(|_| ())
    }
}

struct Release(OrgId, ReservationId);

impl Operation for Release {
    type Output = Credits;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Credits> {
        give_back(tx, self.0, self.1, When::Now).await
    }
}

/// When a reservation may be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// At once.
    Now,
    /// If its time is over.
    Expired,
}

/// Ends a reservation without charges.
pub(super) async fn give_back<T: Tx>(
    tx: &T,
    org: OrgId,
    id: ReservationId,
    when: When,
) -> Result<Credits> {
    let mut book = Book::open(tx, org).await?;
    let reservation = load(tx, org, id).await?;
    if when == When::Expired && reservation.expires_at > book.now {
        return Err(ReserveError::NotOpen(id).into());
    }
    book.take_up(tx, id, reservation).await?;
    let released = book.ledger.release(id)?;
    let mut all = vec![Statement { sql: &REMOVE, params: vec![org.into(), id.into()], must: None }];
    all.extend(book.write_back()?);
    tx.finish(&all).await?;
    Ok(released)
}
