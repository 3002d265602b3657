//! Decisions of people: how approvals and soul proposals are stored. Their rules are in
//! the domain; an operation here changes one row.

mod expire;
mod list;
mod withdraw;

use ostler_domain::id::OrgId;
use ostler_domain::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

pub(crate) use expire::expire;
pub(crate) use list::{count, list, pending_by_subject};
pub(crate) use withdraw::withdraw_by_subject;

/// The state of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionState {
    Pending,
    Approved,
    /// The approved call has run or is running.
    Used,
    /// The approved proposal is in force.
    Applied,
    Rejected,
    /// Nobody decided in time, or the approved call was not made in time.
    Expired,
    /// The session ended before the call was made.
    Withdrawn,
    /// The subject changed before the proposal could be applied.
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
            Self::Withdrawn => "withdrawn",
            Self::Superseded => "superseded",
        }
    }
}

/// A value that waits for the decision of a person.
pub(crate) trait Decision: Serialize + DeserializeOwned + Send + 'static {
    /// The name in the table and in error texts.
    const KIND: &'static str;

    /// The states in which it can expire.
    const EXPIRES_IN: &'static [DecisionState];

    /// Returns the id, the subject, and the agent that asks.
    fn keys(&self) -> [Value; 3];

    fn state(&self) -> DecisionState;

    /// Returns when it was requested and when it expires.
    fn times(&mut self) -> (&mut Timestamp, &mut Timestamp);

    /// Expires it if its time is over; returns whether that changed it.
    fn expire(&mut self, now: Timestamp) -> bool;
}

/// The times are of the database's clock.
const INSERT: Sql = sql!(
    "INSERT INTO decisions
       (org, kind, id, subject, requested_by, state, requested_at, expires_at, data)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms(), now_ms() + ?7, ?8)"
);
const GET: Sql = sql!(
    "SELECT data, requested_at, expires_at FROM decisions WHERE org = ?1 AND kind = ?2 AND id = ?3"
);
/// Locks the row until the transaction ends.
const LOCK: Sql = Sql {
    sqlite: "SELECT data, requested_at, expires_at FROM decisions
       WHERE org = ?1 AND kind = ?2 AND id = ?3",
    postgres: "SELECT data, requested_at, expires_at FROM decisions
       WHERE org = $1 AND kind = $2 AND id = $3 FOR UPDATE",
};
const NOW: Sql = sql!("SELECT now_ms()");
const UPDATE: Sql = sql!(
    "UPDATE decisions SET state = ?4, data = ?5, expires_at = ?8,
       decided_at = CASE WHEN state = 'pending' THEN ?6 ELSE decided_at END
     WHERE org = ?1 AND kind = ?2 AND id = ?3 AND state = ?7"
);

/// Stores a new decision.
pub(crate) fn create<D: Decision>(tx: &Tx, org: OrgId, decision: D) -> Result<()> {
    match tx.batch(&[insert(org, decision)?]) {
        Err(StoreError::Conflict(_)) => Err(StoreError::Conflict(format!("this {}", D::KIND))),
        other => other.map(drop),
    }
}

/// Reads a decision.
pub(crate) fn get<D: Decision>(tx: &Tx, org: OrgId, id: Value) -> Result<D> {
    let row = tx.first(&GET, &[org.into(), D::KIND.into(), id])?;
    read(&row.ok_or(StoreError::NotFound(D::KIND))?)
}

fn insert<D: Decision>(org: OrgId, mut decision: D) -> Result<Statement> {
    let data = Value::json(&decision)?;
    let [id, subject, requested_by] = decision.keys();
    let state = decision.state().name().into();
    let (requested_at, expires_at) = decision.times();
    let time = expires_at.since(*requested_at).into();
    let params = vec![org.into(), D::KIND.into(), id, subject, requested_by, state, time, data];
    Ok(Statement { sql: &INSERT, params, on_no_rows: None })
}

/// Changes a decision with `act`, which gets the current time. A change is stored even
/// if `act` fails: a decision that had expired unnoticed is stored as expired.
pub(crate) fn change<D: Decision, E>(
    tx: &Tx,
    org: OrgId,
    id: impl Into<Value>,
    act: impl FnOnce(&mut D, Timestamp) -> std::result::Result<(), E>,
) -> Result<std::result::Result<D, E>> {
    let row = tx.first(&LOCK, &[org.into(), D::KIND.into(), id.into()])?;
    let now = now(tx)?;
    let mut decision: D = read(&row.ok_or(StoreError::NotFound(D::KIND))?)?;
    let before = decision.state();
    let outcome = act(&mut decision, now);
    if decision.state() != before {
        let updated = tx.batch(&[update(org, &mut decision, before, now)?])?;
        if updated != [1] {
            // Cannot happen while the row is locked.
            return Err(StoreError::Busy);
        }
    }
    Ok(outcome.map(|()| decision))
}

fn update<D: Decision>(
    org: OrgId,
    decision: &mut D,
    before: DecisionState,
    now: Timestamp,
) -> Result<Statement> {
    let [id, ..] = decision.keys();
    let expires_at = decision.times().1.as_millis();
    let params = vec![
        org.into(),
        D::KIND.into(),
        id,
        decision.state().name().into(),
        Value::json(decision)?,
        now.as_millis().into(),
        before.name().into(),
        expires_at.into(),
    ];
    Ok(Statement { sql: &UPDATE, params, on_no_rows: None })
}

fn now(tx: &Tx) -> Result<Timestamp> {
    let row = tx.first(&NOW, &[])?;
    let row = row.ok_or_else(|| StoreError::Backend("the database has no clock".into()))?;
    Ok(Timestamp::from_millis(row.int(0)?))
}

fn read<D: Decision>(row: &Row) -> Result<D> {
    let mut decision: D = row.json(0, D::KIND)?;
    let (requested_at, expires_at) = decision.times();
    *requested_at = Timestamp::from_millis(row.int(1)?);
    *expires_at = Timestamp::from_millis(row.int(2)?);
    Ok(decision)
}
