//! Reserving before a turn, more of it during the turn, and giving it back.

use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Reservation, ReserveError};
use ostler_domain::time::Timestamp;

use super::accounts::at_once;
use super::book::Book;
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};

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

/// What is left after credits were held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    /// What the org could still spend of its own, and of its parent's if that
    /// one pays already; nothing means without a limit.
    pub left: Option<Credits>,
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
const FOUND: Sql = sql!("SELECT data, settled_at FROM reservations WHERE org = ?1 AND id = ?2");
const CHANGE: Sql =
    sql!("UPDATE reservations SET data = ?3, expires_at = ?4 WHERE org = ?1 AND id = ?2");
pub(super) const REMOVE: Sql = sql!("DELETE FROM reservations WHERE org = ?1 AND id = ?2");

impl OrgStore<'_> {
    /// Holds credits for a turn: the org's own first, then its parent's within
    /// the caps. All of it or nothing. A repeat, which has the same id, agent
    /// and amount as one that is open, changes nothing; another one with the
    /// same id is a conflict.
    pub async fn reserve(&self, new: NewReservation) -> Result<Reserved> {
        at_once(new.amount)?;
        let others = self.store.reserving.of(self.org);
        if let Some(Some(answer)) = others.ask((self.store.clone(), new)).await {
            return answer;
        }
        match self.draw(Reserve(self.org, new)).await {
            Err(refused @ (StoreError::Conflict(_) | StoreError::Credits(_))) => {
                match self.store.read(Found(self.org, new)).await? {
                    Some(Repeat::Same) => Ok(Reserved { left: self.affordable().await? }),
                    Some(Repeat::Other) => {
                        Err(StoreError::Conflict(format!("another reservation {}", new.id)))
                    }
                    None => Err(refused),
                }
            }
            result => result,
        }
    }

    /// Holds up to `total` for a turn that needs more, and all of it for
    /// another `lasts`. Where that much is held already, only its time
    /// changes, so that a repeat takes nothing. Refused, the reservation stays
    /// as it was.
    pub async fn top_up(&self, id: ReservationId, total: Credits, lasts: Duration) -> Result<()> {
        at_once(total)?;
        self.draw(TopUp(self.org, id, total, lasts)).await
    }

    /// Gives back what a turn that failed had held, and says how much it was.
    pub async fn release(&self, id: ReservationId) -> Result<Credits> {
        self.store.write(Release(self.org, id)).await
    }

    /// Draws credits. Before anybody is refused, what turns that are over hold
    /// is given back, and that stands whatever comes of this.
    async fn draw<O: Operation + Copy>(&self, operation: O) -> Result<O::Output> {
        match self.store.write(operation).await {
            Err(StoreError::Credits(ReserveError::Exhausted { .. } | ReserveError::Cap(_))) => {
                self.settle_up().await?;
                self.store.write(operation).await
            }
            result => result,
        }
    }
}

/// It does not wait for the disk. Where the whole machine crashes, the turn
/// that it was made for is lost with it, or was committed later in the same
/// log. Where only the database does, the worker goes on: what its turn costs
/// finds nothing held and is an overrun that the platform bears. The balances
/// are right either way.
#[derive(Clone, Copy)]
struct Reserve(OrgId, NewReservation);

impl Operation for Reserve {
    type Output = Reserved;
    const FLUSHED: bool = false;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Reserved> {
        let mut book = Book::open(tx, self.0).await?;
        let (reserved, add) = reserve_in(tx, &mut book, self.0, self.1).await?;
        let mut all = vec![add];
        all.extend(book.write_back()?);
        tx.finish(&all).await?;
        Ok(reserved)
    }
}

/// Holds credits in a book, and says what writes the reservation down.
pub(super) async fn reserve_in<T: Tx>(
    tx: &T,
    book: &mut Book,
    org: OrgId,
    new: NewReservation,
) -> Result<(Reserved, Statement)> {
    let (now, expires_at) = (book.now, book.now + new.lasts);
    drawn(tx, book, |book| {
        book.ledger.reserve(new.id, org, new.budget_owner, new.amount, now, expires_at)
    })
    .await?;
    let reservation = Value::json(open(book, new.id)?)?;
    let params = vec![org.into(), new.id.into(), expires_at.as_millis().into(), reservation];
    let reserved = Reserved { left: book.ledger.affordable(org, now) };
    Ok((reserved, Statement { sql: &ADD, params, must: None }))
}

/// Draws on the org's own credits, and on its parent's if they are not enough.
async fn drawn<T: Tx>(
    tx: &T,
    book: &mut Book,
    mut draw: impl FnMut(&mut Book) -> std::result::Result<(), ReserveError>,
) -> Result<()> {
    let drawn = match draw(book) {
        Err(ReserveError::Exhausted { .. }) if book.with_parent(tx).await? => draw(book),
        result => result,
    };
    Ok(drawn?)
}

/// What a reservation with an id that exists is.
enum Repeat {
    /// The same one, and open.
    Same,
    /// Another one, or one that is over.
    Other,
}

struct Found(OrgId, NewReservation);

impl Operation for Found {
    type Output = Option<Repeat>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<Repeat>> {
        let Self(org, new) = *self;
        let Some(row) = tx.first(&FOUND, &[org.into(), new.id.into()]).await? else {
            return Ok(None);
        };
        let found: Reservation = row.json(0, "reservation")?;
        let same = row.opt_int(1)?.is_none()
            && found.budget_owner == new.budget_owner
            && found.amount() == new.amount;
        Ok(Some(if same { Repeat::Same } else { Repeat::Other }))
    }
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

#[derive(Clone, Copy)]
struct TopUp(OrgId, ReservationId, Credits, Duration);

impl Operation for TopUp {
    type Output = ();
    const FLUSHED: bool = false;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, id, total, lasts) = *self;
        let mut book = Book::open(tx, org).await?;
        let reservation = load(tx, org, id).await?;
        let more = total.saturating_sub(reservation.amount());
        book.take_up(tx, vec![(id, reservation)]).await?;
        let now = book.now;
        drawn(tx, &mut book, |book| book.ledger.top_up(id, more, now)).await?;
        let reservation = Value::json(open(&book, id)?)?;
        let expires_at = (now + lasts).as_millis().into();
        let params = vec![org.into(), id.into(), reservation, expires_at];
        let mut all = vec![Statement { sql: &CHANGE, params, must: None }];
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
    book.take_up(tx, vec![(id, reservation)]).await?;
    let released = book.ledger.release(id)?;
    let mut all = vec![Statement { sql: &REMOVE, params: vec![org.into(), id.into()], must: None }];
    all.extend(book.write_back()?);
    tx.finish(&all).await?;
    Ok(released)
}
