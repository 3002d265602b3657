//! Withdrawing the open decisions on a subject that ended.

use ostler_domain::id::OrgId;

use super::{Decision, now, read, update};
use crate::backend::Tx;
use crate::backend::sql::Sql;
use crate::backend::value::Value;
use crate::error::Result;

/// A row that is locked is being used or expired at the moment, and its transaction comes
/// first. Deciding waits for the conversation, which the caller has locked.
const OPEN_BY_SUBJECT: Sql = Sql {
    sqlite: "SELECT data, requested_at, expires_at
       FROM decisions INDEXED BY decisions_by_subject
       WHERE org = ?1 AND kind = ?2 AND subject = ?3 AND state IN ('pending', 'approved')",
    postgres: "SELECT data, requested_at, expires_at FROM decisions
       WHERE org = $1 AND kind = $2 AND subject = $3 AND state IN ('pending', 'approved')
       FOR UPDATE SKIP LOCKED",
};

/// Changes the pending and approved decisions on a subject with `withdraw`, which returns
/// whether it changed one.
pub(crate) fn withdraw_by_subject<D: Decision>(
    tx: &Tx,
    org: OrgId,
    subject: Value,
    withdraw: impl Fn(&mut D) -> bool,
) -> Result<()> {
    let rows = tx.query(&OPEN_BY_SUBJECT, &[org.into(), D::KIND.into(), subject])?;
    if rows.is_empty() {
        return Ok(());
    }
    let now = now(tx)?;
    let mut statements = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut decision: D = read(row)?;
        let before = decision.state();
        if withdraw(&mut decision) {
            statements.push(update(org, &mut decision, before, now)?);
        }
    }
    tx.batch(&statements).map(drop)
}
