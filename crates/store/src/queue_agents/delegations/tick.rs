//! SLA actions for overdue delegations: each is returned once, to one caller.

use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_domain::queue_agent::delegation::{Delegation, DelegationBoard, DelegationStatus};
use ostler_domain::queue_agent::sla::{SlaAction, SlaPolicy, SlaWatch};
use ostler_domain::time::Timestamp;

use super::{read_delegation, variant_name};
use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::Result;

/// Delegations whose deadline has passed without an action. Locked rows are skipped.
const LATE: Sql = Sql {
    sqlite: "SELECT data, watch FROM queue_delegations
       WHERE org = ?1 AND watch IS NOT NULL AND last_attempt_at IS NULL AND due_at <= ?2
       ORDER BY due_at, id LIMIT ?3",
    postgres: "SELECT data, watch FROM queue_delegations
       WHERE org = $1 AND watch IS NOT NULL AND last_attempt_at IS NULL AND due_at <= $2
       ORDER BY due_at, id LIMIT $3 FOR UPDATE SKIP LOCKED",
};
/// Delegations whose last action was long enough ago.
const ACTED: Sql = Sql {
    sqlite: "SELECT data, watch FROM queue_delegations
       WHERE org = ?1 AND watch IS NOT NULL AND last_attempt_at <= ?2
       ORDER BY last_attempt_at, id LIMIT ?3",
    postgres: "SELECT data, watch FROM queue_delegations
       WHERE org = $1 AND watch IS NOT NULL AND last_attempt_at <= $2
       ORDER BY last_attempt_at, id LIMIT $3 FOR UPDATE SKIP LOCKED",
};
const UPDATE: Sql = sql!(
    "UPDATE queue_delegations SET status = ?3, data = ?4, watch = ?5, last_attempt_at = ?6,
       updated_at = now_ms() WHERE org = ?1 AND id = ?2"
);

impl OrgStore<'_> {
    /// Advances the SLA watches of incomplete delegations and returns at most `limit` due
    /// actions. Each is returned once, to one caller. A delegation whose alert is returned
    /// becomes overdue.
    pub fn tick_delegations(
        &self,
        policy: SlaPolicy,
        now: Timestamp,
        limit: u32,
    ) -> StoreFuture<Vec<(Delegation, SlaAction)>> {
        let org = self.org;
        self.write(move |tx| tick_delegations(tx, org, policy, now, limit))
    }
}

fn tick_delegations(
    tx: &Tx,
    org: OrgId,
    policy: SlaPolicy,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<(Delegation, SlaAction)>> {
    let params = |before: Timestamp| [org.into(), before.into(), limit.into()];
    let patience = i64::try_from(policy.retry_interval.as_millis()).unwrap_or(i64::MAX);
    let acted = Timestamp::from_millis(now.as_millis().saturating_sub(patience));
    let (late, acted) = (params(now), params(acted));
    let found = tx.query_in_order(&[(&LATE, &late), (&ACTED, &acted)])?;
    let (mut due, mut batch) = (Vec::new(), Vec::new());
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    for row in found.iter().flatten() {
        if due.len() < limit
            && let Some((delegation, action)) = advance(org, row, policy, now, &mut batch)?
        {
            due.push((delegation, action));
        }
    }
    tx.finish(&batch)?;
    Ok(due)
}

fn advance(
    org: OrgId,
    row: &Row,
    policy: SlaPolicy,
    now: Timestamp,
    batch: &mut Vec<Statement>,
) -> Result<Option<(Delegation, SlaAction)>> {
    let mut delegation = read_delegation(row)?;
    let mut watch: SlaWatch = row.json(1, "SLA watch of a delegation")?;
    let Some(action) = watch.tick(policy, now) else { return Ok(None) };
    if action == SlaAction::Alert {
        delegation = mark_overdue(delegation, now)?;
    }
    let watch = if watch.is_finished() { Value::Null } else { Value::json(&watch)? };
    let params = vec![
        org.into(),
        delegation.id.into(),
        variant_name(&delegation.status)?,
        Value::json(&delegation)?,
        watch,
        now.into(),
    ];
    batch.push(Statement { sql: &UPDATE, params, on_no_rows: None });
    Ok(Some((delegation, action)))
}

/// Marks a delegation as overdue, if it is not already.
fn mark_overdue(delegation: Delegation, now: Timestamp) -> Result<Delegation> {
    let id = delegation.id;
    let mut board = DelegationBoard::from(vec![delegation]);
    // The alert comes at the deadline; a delegation is overdue only after it.
    let past = now + Duration::from_millis(1);
    let _already_overdue = board.update(id, DelegationStatus::Overdue, past);
    Ok(board.get(id)?.clone())
}
