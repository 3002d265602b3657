//! What waits for a person's decision: how approvals and soul proposals are
//! kept. Their rules are in the domain; here one row changes at a time.

mod expire;
mod list;

use std::marker::PhantomData;

use ostler_domain::id::OrgId;
use ostler_domain::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};

pub(crate) use expire::Expire;
pub(crate) use list::{Count, List, PendingAbout};

/// Where something stands that waits, or waited, for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionState {
    /// It waits.
    Pending,
    /// A person said yes.
    Approved,
    /// The approved call has run, or is running.
    Used,
    /// The approved proposal is in force.
    Applied,
    /// A person said no.
    Rejected,
    /// Nobody answered in time.
    Expired,
    /// What it was about has changed before it could be applied.
    Superseded,
}

impl DecisionState {
    const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Used => "used",
            Self::Applied => "applied",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
        }
    }
}

/// Something that waits for a person.
pub(crate) trait Decision: Serialize + DeserializeOwned + Send + 'static {
    /// What it is called, in the table and to people.
    const KIND: &'static str;

    /// Its id, what it is about, and the agent that asks.
    fn keys(&self) -> [Value; 3];

    /// Where it stands.
    fn state(&self) -> DecisionState;

    /// When it was asked for, and when it ends by itself.
    fn times(&mut self) -> (&mut Timestamp, &mut Timestamp);

    /// Ends it when its time is over; says whether it did just now.
    fn expire(&mut self, now: Timestamp) -> bool;
}

/// The time it has is counted by the database's clock.
const INSERT: Sql = sql!(
    "INSERT INTO decisions (org, kind, id, subject, asker, state, asked_at, expires_at, data)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms(), now_ms() + ?7, ?8)"
);
const GET: Sql = sql!(
    "SELECT data, asked_at, expires_at FROM decisions WHERE org = ?1 AND kind = ?2 AND id = ?3"
);
/// Holds the row until the transaction ends.
const HOLD: Sql = Sql {
    sqlite: "SELECT data, asked_at, expires_at FROM decisions
       WHERE org = ?1 AND kind = ?2 AND id = ?3",
    postgres: "SELECT data, asked_at, expires_at FROM decisions
       WHERE org = $1 AND kind = $2 AND id = $3 FOR UPDATE",
};
const NOW: Sql = sql!("SELECT now_ms()");
const CHANGE: Sql = sql!(
    "UPDATE decisions SET state = ?4, data = ?5,
       decided_at = CASE WHEN state = 'pending' THEN ?6 ELSE decided_at END
     WHERE org = ?1 AND kind = ?2 AND id = ?3 AND state = ?7"
);

/// Stores a new one.
pub(crate) fn insert<D: Decision>(org: OrgId, mut decision: D) -> Result<Statement> {
    let data = Value::json(&decision)?;
    let [id, subject, asker] = decision.keys();
    let state = decision.state().name().into();
    let (asked_at, expires_at) = decision.times();
    let time = expires_at.since(*asked_at).into();
    let params = vec![org.into(), D::KIND.into(), id, subject, asker, state, time, data];
    Ok(Statement { sql: &INSERT, params, must: None })
}

/// Changes one as `act` says, which is told the time. What it changed stands
/// even if it refused: one that had expired unnoticed is expired now.
pub(crate) async fn change<T: Tx, D: Decision, E>(
    tx: &T,
    org: OrgId,
    id: Value,
    act: impl FnOnce(&mut D, Timestamp) -> std::result::Result<(), E>,
) -> Result<std::result::Result<D, E>> {
    let row = tx.first(&HOLD, &[org.into(), D::KIND.into(), id.clone()]).await?;
    let now = now(tx).await?;
    let mut decision: D = read(&row.ok_or(StoreError::NotFound(D::KIND))?)?;
    let before = decision.state();
    let outcome = act(&mut decision, now);
    if decision.state() != before {
        let touched = tx.batch(&[changed(org, &decision, before, now)?]).await?;
        if touched != [1] {
            // The row is held, so this does not happen; if it did, try again.
            return Err(StoreError::Busy);
        }
    }
    Ok(outcome.map(|()| decision))
}

fn changed<D: Decision>(
    org: OrgId,
    decision: &D,
    before: DecisionState,
    now: Timestamp,
) -> Result<Statement> {
    let [id, ..] = decision.keys();
    let params = vec![
        org.into(),
        D::KIND.into(),
        id,
        decision.state().name().into(),
        Value::json(decision)?,
        now.as_millis().into(),
        before.name().into(),
    ];
    Ok(Statement { sql: &CHANGE, params, must: None })
}

async fn now<T: Tx>(tx: &T) -> Result<Timestamp> {
    let row = tx.first(&NOW, &[]).await?;
    let row = row.ok_or_else(|| StoreError::Backend("the database has no clock".into()))?;
    Ok(Timestamp::from_millis(row.int(0)?))
}

fn read<D: Decision>(row: &Row) -> Result<D> {
    let mut decision: D = row.json(0, D::KIND)?;
    let (asked_at, expires_at) = decision.times();
    *asked_at = Timestamp::from_millis(row.int(1)?);
    *expires_at = Timestamp::from_millis(row.int(2)?);
    Ok(decision)
}

/// Stores a new one, in a transaction of its own.
pub(crate) struct Create<D>(pub(crate) OrgId, pub(crate) D);

impl<D: Decision + Clone + Sync> Operation for Create<D> {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        match tx.batch(&[insert(self.0, self.1.clone())?]).await {
            Err(StoreError::Conflict(_)) => Err(StoreError::Conflict(format!("this {}", D::KIND))),
            other => other.map(|_| ()),
        }
    }
}

/// Reads one.
pub(crate) struct Get<D>(pub(crate) OrgId, pub(crate) Value, pub(crate) PhantomData<fn() -> D>);

impl<D: Decision> Operation for Get<D> {
    type Output = D;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<D> {
        let row = tx.first(&GET, &[self.0.into(), D::KIND.into(), self.1.clone()]).await?;
        read(&row.ok_or(StoreError::NotFound(D::KIND))?)
    }
}
