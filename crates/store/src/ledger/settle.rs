//! Settling: a turn writes what it cost, and that is applied to the account.

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::ledger::{Charge, Reservation, ReserveError};
use ostler_domain::time::Timestamp;

use super::accounts::at_once;
use super::book::Book;
use super::lines;
use super::reserve::{REMOVE, When, from_row, give_back};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};
use crate::notices::Notify;
use crate::{OrgStore, Store};

/// What a turn cost, for its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// The org that pays.
    pub payer: OrgId,
    /// The turn's reservation.
    pub reservation: ReservationId,
    /// The agent that spent.
    pub budget_owner: AgentId,
    /// What it spent it on.
    pub charges: Vec<Charge>,
}

/// A reservation that the sweeper took meanwhile is there again, with nothing
/// held: its charges are an overrun.
const CHARGE: Sql = sql!(
    "INSERT INTO reservations (org, id, expires_at, data, charges, settled_at)
     VALUES (?1, ?2, 0, ?3, ?4, now_ms())
     ON CONFLICT (org, id) DO UPDATE SET
       charges = excluded.charges, settled_at = excluded.settled_at
     WHERE reservations.charges IS NULL"
);
const SETTLED: Sql = sql!(
    "SELECT id, data, expires_at, charges FROM reservations
     WHERE org = ?1 AND charges IS NOT NULL ORDER BY settled_at LIMIT ?2"
);
/// Orgs with something to apply, found by jumping along the index.
const ORGS: Sql = sql!(
    "WITH RECURSIVE settled (org) AS (
       SELECT (SELECT r.org FROM reservations r
               WHERE r.charges IS NOT NULL ORDER BY r.org LIMIT 1)
       UNION ALL
       SELECT (SELECT r.org FROM reservations r
               WHERE r.charges IS NOT NULL AND r.org > settled.org ORDER BY r.org LIMIT 1)
       FROM settled WHERE settled.org IS NOT NULL)
     SELECT org FROM settled WHERE org IS NOT NULL"
);
const EXPIRED: Sql = sql!(
    "SELECT org, id FROM reservations
     WHERE charges IS NULL AND expires_at <= (SELECT now_ms()) ORDER BY expires_at LIMIT ?1"
);

/// Turns that are applied in one transaction.
const TOGETHER: u32 = 500;
/// Reservations that one sweep returns at most.
const SWEPT: u32 = 500;

/// The charges of a turn, as part of its commit.
pub(crate) fn charge(settle: &Settle) -> Result<Statement> {
    for charge in &settle.charges {
        at_once(charge.amount)?;
    }
    let late = Timestamp::from_millis(0);
    let nothing = Reservation::of_nothing(settle.payer, settle.budget_owner, late);
    let params = vec![
        settle.payer.into(),
        settle.reservation.into(),
        Value::json(&nothing)?,
        Value::json(&settle.charges)?,
    ];
    Ok(Statement { sql: &CHARGE, params, must: None })
}

impl Store {
    /// Applies what turns of all orgs have cost, and says how many there were.
    /// Whoever looks at an account sees it applied; this keeps it short. An org
    /// where it fails does not keep it from the others; the first failure is
    /// what is answered in the end.
    pub async fn apply_settlements(&self) -> Result<u64> {
        let mut all = Each::default();
        for org in self.read(Orgs).await? {
            all.add(self.org(org).apply_settlements().await)?;
        }
        Ok(all.done()?.into_iter().sum())
    }

    /// Gives back what turns that never ended still hold, and says which. One
    /// that fails does not keep it from the others; the first failure is what
    /// is answered in the end.
    pub async fn sweep_reservations(&self) -> Result<Vec<(OrgId, ReservationId)>> {
        let mut all = Each::default();
        for (org, id) in self.read(Expired).await? {
            match self.write(Sweep(org, id)).await {
                // Its turn was faster.
                Err(StoreError::Credits(ReserveError::NotOpen(_))) => {}
                result => all.add(result.map(|()| (org, id)))?,
            }
        }
        all.done()
    }
}

/// What came of one thing after the other, none of which concerns the rest.
struct Each<T>(Vec<T>, Option<StoreError>);

impl<T> Default for Each<T> {
    fn default() -> Self {
        Self(Vec::new(), None)
    }
}

impl<T> Each<T> {
    /// Notes a result. What stands in the way of all ends it at once.
    fn add(&mut self, result: Result<T>) -> Result<()> {
        match result {
            Ok(done) => self.0.push(done),
            Err(error @ (StoreError::Unavailable(_) | StoreError::DiskFull)) => return Err(error),
            Err(error) => {
                self.1.get_or_insert(error);
            }
        }
        Ok(())
    }

    /// All that was done, or the first failure.
    fn done(self) -> Result<Vec<T>> {
        self.1.map_or(Ok(self.0), Err)
    }
}

impl OrgStore<'_> {
    /// Applies what turns of this org have cost, and says how many there were.
    pub async fn apply_settlements(&self) -> Result<u64> {
        let mut applied = 0;
        loop {
            let some = self.store.write(Apply(self.org)).await?;
            applied += some;
            if some < u64::from(TOGETHER) {
                return Ok(applied);
            }
        }
    }

    /// Applies what turns of this org and of its parent have cost. What those
    /// of the parent's other children have is left to the sweeper.
    pub(super) async fn settle_up(&self) -> Result<()> {
        self.apply_settlements().await?;
        if let Some(parent) = self.org().await?.parent() {
            self.store.org(parent).apply_settlements().await?;
        }
        Ok(())
    }
}

struct Orgs;

impl Operation for Orgs {
    type Output = Vec<OrgId>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<OrgId>> {
        tx.query(&ORGS, &[]).await?.iter().map(|row| row.id(0)).collect()
    }
}

struct Apply(OrgId);

impl Operation for Apply {
    type Output = u64;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<u64> {
        let org = self.0;
        let mut book = Book::open(tx, org).await?;
        let rows = tx.query(&SETTLED, &[org.into(), TOGETHER.into()]).await?;
        let settled = rows.iter().map(|row| Ok((row.id(0)?, from_row(row, 1, 2)?)));
        book.take_up(tx, settled.collect::<Result<_>>()?).await?;
        let mut all = Vec::new();
        for row in &rows {
            let id: ReservationId = row.id(0)?;
            let charges: Vec<Charge> = row.json(3, "charge")?;
            for entry in book.ledger.settle(id, &charges)?.entries {
                all.push(lines::expense(&entry)?);
            }
            all.push(Statement { sql: &REMOVE, params: vec![org.into(), id.into()], must: None });
        }
        if let Some(last) = rows.last() {
            let last: ReservationId = last.id(0)?;
            for (whose, notice) in book.low_credits(last)? {
                Notify(whose, notice).run(tx).await?;
            }
            all.extend(book.write_back()?);
            tx.finish(&all).await?;
        }
        Ok(rows.len() as u64)
    }
}

struct Expired;

impl Operation for Expired {
    type Output = Vec<(OrgId, ReservationId)>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<(OrgId, ReservationId)>> {
        let rows = tx.query(&EXPIRED, &[SWEPT.into()]).await?;
        rows.iter().map(|row| Ok((row.id(0)?, row.id(1)?))).collect()
    }
}

struct Sweep(OrgId, ReservationId);

impl Operation for Sweep {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        give_back(tx, self.0, self.1, When::Expired).await.map(|_| ())
    }
}
