//! Settlement: a turn's commit stores its charges, which are applied to the account
//! later.

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::ledger::{Charge, Reservation, ReserveError};
use ostler_domain::time::Timestamp;

use super::accounts::check_amount;
use super::lines;
use super::locked_accounts::LockedAccounts;
use super::reservations::{REMOVE, ReleaseWhen, read_reservation, release_reservation};
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Statement, Tx};
use crate::delivery::notices::notify;
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// The charges of a turn, for its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCharges {
    pub payer: OrgId,
    pub reservation: ReservationId,
    pub budget_owner: AgentId,
    pub charges: Vec<Charge>,
}

/// If the sweeper has released the reservation, inserts an empty one: its charges are an
/// overrun.
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
/// Orgs with unapplied settlements, by a skip scan of the index.
const UNSETTLED_ORGS: Sql = sql!(
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

/// Settlements applied per transaction.
const BATCH_SIZE: u32 = 500;
/// The most reservations that one sweep releases.
const SWEEP_LIMIT: u32 = 500;

/// The statement that stores a turn's charges, for its commit.
pub(crate) fn charge_statement(turn: &TurnCharges) -> Result<Statement> {
    for charge in &turn.charges {
        check_amount(charge.amount)?;
    }
    let late = Timestamp::from_millis(0);
    let empty = Reservation::empty(turn.payer, turn.budget_owner, late);
    let params = vec![
        turn.payer.into(),
        turn.reservation.into(),
        Value::json(&empty)?,
        Value::json(&turn.charges)?,
    ];
    Ok(Statement { sql: &CHARGE, params, on_no_rows: None })
}

impl OrgStore<'_> {
    /// Stores the charges of a model call that belongs to no conversation, thread or workflow.
    /// The org is the one that pays. Repeating it changes nothing.
    pub async fn store_charges(&self, charges: TurnCharges) -> Result<()> {
        if charges.payer != self.org {
            return Err(StoreError::NotFound("reservation"));
        }
        self.write(move |tx| tx.batch(&[charge_statement(&charges)?]).map(drop)).await
    }
}

impl Store {
    /// Applies the settlements of all orgs and returns how many there were. Reading an
    /// account applies them too; this keeps the queue short. An org that fails does not
    /// stop the others; the first failure is returned at the end.
    pub async fn apply_settlements(&self) -> Result<u64> {
        let mut all = Results::default();
        for org in self.unsettled_orgs().await? {
            all.add(self.org(org).apply_settlements().await)?;
        }
        Ok(all.done()?.into_iter().sum())
    }

    /// Releases expired reservations and returns them. One that fails does not stop the
    /// others; the first failure is returned at the end.
    pub async fn sweep_reservations(&self) -> Result<Vec<(OrgId, ReservationId)>> {
        let mut all = Results::default();
        for (org, id) in self.expired_reservations().await? {
            let release = move |tx: &Tx| release_reservation(tx, org, id, ReleaseWhen::Expired);
            match self.org(org).write(release).await {
                // Its turn has settled it meanwhile.
                Err(StoreError::Credits(ReserveError::NotOpen(_))) => {}
                result => all.add(result.map(|_| (org, id)))?,
            }
        }
        all.done()
    }

    fn unsettled_orgs(&self) -> StoreFuture<Vec<OrgId>> {
        self.read_all_orgs(|tx| {
            tx.query(&UNSETTLED_ORGS, &[])?.iter().map(|row| row.id(0)).collect()
        })
    }

    fn expired_reservations(&self) -> StoreFuture<Vec<(OrgId, ReservationId)>> {
        self.read_all_orgs(|tx| {
            let rows = tx.query(&EXPIRED, &[SWEEP_LIMIT.into()])?;
            rows.iter().map(|row| Ok((row.id(0)?, row.id(1)?))).collect()
        })
    }
}

/// The results of independent operations, and the first failure.
struct Results<T>(Vec<T>, Option<StoreError>);

impl<T> Default for Results<T> {
    fn default() -> Self {
        Self(Vec::new(), None)
    }
}

impl<T> Results<T> {
    /// Records a result. Returns an error that would affect all operations at once.
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

    /// Returns the successful results, or the first failure.
    fn done(self) -> Result<Vec<T>> {
        self.1.map_or(Ok(self.0), Err)
    }
}

impl OrgStore<'_> {
    /// Applies the settlements of this org and returns how many there were.
    pub async fn apply_settlements(&self) -> Result<u64> {
        let (org, mut applied) = (self.org, 0);
        loop {
            let count = self.write(move |tx| apply_batch(tx, org)).await?;
            applied += count;
            if count < u64::from(BATCH_SIZE) {
                return Ok(applied);
            }
        }
    }

    /// Applies the settlements of this org and of its parent. Those of the parent's other
    /// children are left to the sweeper.
    pub(super) async fn apply_settlements_with_parent(&self) -> Result<()> {
        self.apply_settlements().await?;
        if let Some(parent) = self.org().await?.parent() {
            self.store.org(parent).apply_settlements().await?;
        }
        Ok(())
    }
}

/// Applies the oldest settlements of an org, at most [`BATCH_SIZE`], and returns how many.
fn apply_batch(tx: &Tx, org: OrgId) -> Result<u64> {
    let mut accounts = LockedAccounts::open(tx, org)?;
    let rows = tx.query(&SETTLED, &[org.into(), BATCH_SIZE.into()])?;
    let settled = rows.iter().map(|row| Ok((row.id(0)?, read_reservation(row, 1, 2)?)));
    accounts.add_reservations(tx, settled.collect::<Result<_>>()?)?;
    let mut all = Vec::new();
    for row in &rows {
        let id: ReservationId = row.id(0)?;
        let charges: Vec<Charge> = row.json(3, "charge")?;
        for entry in accounts.ledger.settle(id, &charges)?.entries {
            all.push(lines::expense(&entry)?);
        }
        let params = vec![org.into(), id.into()];
        all.push(Statement { sql: &REMOVE, params, on_no_rows: None });
    }
    if let Some(last) = rows.last() {
        let last: ReservationId = last.id(0)?;
        let low = accounts.low_credits(last)?;
        for (whose, notice) in low.into_iter().chain(accounts.nearly_used_caps(last)) {
            notify(tx, whose, &notice)?;
        }
        all.extend(accounts.write_back()?);
        tx.finish(&all)?;
    }
    Ok(rows.len() as u64)
}
