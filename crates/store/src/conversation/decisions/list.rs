//! Listing and counting decisions.

use ostler_domain::id::OrgId;

use super::{Decision, DecisionState, read};
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::Result;

const LIST: Sql = Sql {
    sqlite: "SELECT data, requested_at, expires_at FROM decisions INDEXED BY decisions_by_state
       WHERE org = ?1 AND kind = ?2 AND state = ?3 AND id > ?4 ORDER BY id LIMIT ?5",
    postgres: "SELECT data, requested_at, expires_at FROM decisions
       WHERE org = $1 AND kind = $2 AND state = $3 AND id > $4 ORDER BY id LIMIT $5",
};
const PENDING_BY_SUBJECT: Sql = Sql {
    sqlite: "SELECT data, requested_at, expires_at
       FROM decisions INDEXED BY decisions_pending_by_subject
       WHERE org = ?1 AND kind = ?2 AND subject = ?3 AND state = 'pending' AND id > ?4
       ORDER BY id LIMIT ?5",
    postgres: "SELECT data, requested_at, expires_at FROM decisions
       WHERE org = $1 AND kind = $2 AND subject = $3 AND state = 'pending' AND id > $4
       ORDER BY id LIMIT $5",
};
const COUNT: Sql =
    sql!("SELECT count(*) FROM decisions WHERE org = ?1 AND kind = ?2 AND state = 'pending'");
const COUNT_BY_SUBJECT: Sql = Sql {
    sqlite: "SELECT count(*) FROM decisions INDEXED BY decisions_pending_by_subject
       WHERE org = ?1 AND kind = ?2 AND state = 'pending' AND subject = ?3",
    postgres: "SELECT count(*) FROM decisions
       WHERE org = $1 AND kind = $2 AND state = 'pending' AND subject = $3",
};

/// Lists the decisions in a state, oldest first.
pub(crate) fn list<D: Decision>(
    tx: &Tx,
    org: OrgId,
    state: DecisionState,
    after: Value,
    limit: u32,
) -> Result<Vec<D>> {
    let params = [org.into(), D::KIND.into(), state.name().into(), after, limit.into()];
    tx.query(&LIST, &params)?.iter().map(read).collect()
}

/// Lists the pending decisions on a subject, oldest first.
pub(crate) fn pending_by_subject<D: Decision>(
    tx: &Tx,
    org: OrgId,
    subject: Value,
    after: Value,
    limit: u32,
) -> Result<Vec<D>> {
    let params = [org.into(), D::KIND.into(), subject, after, limit.into()];
    tx.query(&PENDING_BY_SUBJECT, &params)?.iter().map(read).collect()
}

/// Counts the pending decisions of an org, or on one subject.
pub(crate) fn count<D: Decision>(tx: &Tx, org: OrgId, subject: Option<Value>) -> Result<u64> {
    let [org, kind] = [Value::from(org), D::KIND.into()];
    let row = match subject {
        None => tx.first(&COUNT, &[org, kind])?,
        Some(subject) => tx.first(&COUNT_BY_SUBJECT, &[org, kind, subject])?,
    };
    let count = row.map_or(Ok(0), |row| row.int(0))?;
    Ok(u64::try_from(count).unwrap_or_default())
}
