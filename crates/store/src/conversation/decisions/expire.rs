//! Expiring overdue decisions of all orgs.

use ostler_domain::id::OrgId;

use super::{Decision, DecisionState, now, read, update};
use crate::backend::sql::{Sql, sql};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

const OVERDUE: Sql = Sql {
    sqlite:
        "SELECT data, requested_at, expires_at, org, id FROM decisions INDEXED BY decisions_expiry
       WHERE kind = ?1 AND state = ?3 AND expires_at <= (SELECT now_ms())
       ORDER BY expires_at LIMIT ?2",
    postgres: "SELECT data, requested_at, expires_at, org, id FROM decisions
       WHERE kind = $1 AND state = $3 AND expires_at <= (SELECT now_ms())
       ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED",
};
/// Postpones a decision that only a newer program can read.
const POSTPONE: Sql = sql!(
    "UPDATE decisions SET expires_at = now_ms() + 60000
     WHERE org = ?1 AND kind = ?2 AND id = ?3"
);

/// Expires up to `limit` decisions, in each state the longest overdue first.
pub(crate) fn expire<D: Decision>(tx: &Tx, limit: u32) -> Result<Vec<(OrgId, D)>> {
    let mut expired = Vec::new();
    for state in D::EXPIRES_IN {
        let left = limit.saturating_sub(u32::try_from(expired.len()).unwrap_or(u32::MAX));
        expired.append(&mut expire_in(tx, *state, left)?);
    }
    Ok(expired)
}

fn expire_in<D: Decision>(tx: &Tx, state: DecisionState, limit: u32) -> Result<Vec<(OrgId, D)>> {
    let rows = tx.query(&OVERDUE, &[D::KIND.into(), limit.into(), state.name().into()])?;
    let now = now(tx)?;
    let (mut expired, mut statements) = (Vec::new(), Vec::new());
    for row in &rows {
        let org: OrgId = row.id(3)?;
        match read::<D>(row) {
            Ok(mut decision) => {
                if decision.expire(now) {
                    statements.push(update(org, &mut decision, state, now)?);
                    expired.push((org, decision));
                }
            }
            Err(StoreError::CorruptValue { .. }) => {
                let params = vec![org.into(), D::KIND.into(), row.value(4)?];
                statements.push(Statement { sql: &POSTPONE, params, on_no_rows: None });
            }
            Err(other) => return Err(other),
        }
    }
    tx.batch(&statements)?;
    Ok(expired)
}
