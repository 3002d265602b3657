//! What is due for work whose deadline has passed: once, and to one who asks.

use std::time::Duration;

use ostler_domain::dispatch::delegation::{Board, Delegation, DelegationStatus};
use ostler_domain::dispatch::sla::{SlaAction, SlaPolicy, SlaWatch};
use ostler_domain::id::OrgId;
use ostler_domain::time::Timestamp;

use super::{delegation, name_of};
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::Result;

/// Deadlines that have passed unnoticed. Others who look pass by what is held.
const LATE: Sql = Sql {
    sqlite: "SELECT data, watch FROM queue_delegations
       WHERE org = ?1 AND watch IS NOT NULL AND tried_at IS NULL AND due_at <= ?2
       ORDER BY due_at, id LIMIT ?3",
    postgres: "SELECT data, watch FROM queue_delegations
       WHERE org = $1 AND watch IS NOT NULL AND tried_at IS NULL AND due_at <= $2
       ORDER BY due_at, id LIMIT $3 FOR UPDATE SKIP LOCKED",
};
/// What was tried, and has had its time.
const TRIED: Sql = Sql {
    sqlite: "SELECT data, watch FROM queue_delegations
       WHERE org = ?1 AND watch IS NOT NULL AND tried_at <= ?2
       ORDER BY tried_at, id LIMIT ?3",
    postgres: "SELECT data, watch FROM queue_delegations
       WHERE org = $1 AND watch IS NOT NULL AND tried_at <= $2
       ORDER BY tried_at, id LIMIT $3 FOR UPDATE SKIP LOCKED",
};
const TICKED: Sql = sql!(
    "UPDATE queue_delegations SET status = ?3, data = ?4, watch = ?5, tried_at = ?6,
       updated_at = now_ms() WHERE org = ?1 AND id = ?2"
);

impl OrgStore<'_> {
    /// Advances the watch over unfinished work and returns at most so many
    /// things to do. Each is returned once, to one caller. Work that gets its
    /// alert becomes overdue.
    pub async fn tick_delegations(
        &self,
        policy: SlaPolicy,
        now: Timestamp,
        most: u32,
    ) -> Result<Vec<(Delegation, SlaAction)>> {
        self.store.write(Tick { org: self.org, policy, now, most }).await
    }
}

struct Tick {
    org: OrgId,
    policy: SlaPolicy,
    now: Timestamp,
    most: u32,
}

impl Operation for Tick {
    type Output = Vec<(Delegation, SlaAction)>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let params = |before: Timestamp| [self.org.into(), before.into(), self.most.into()];
        let patience = i64::try_from(self.policy.patience.as_millis()).unwrap_or(i64::MAX);
        let tried = Timestamp::from_millis(self.now.as_millis().saturating_sub(patience));
        let (late, tried) = (params(self.now), params(tried));
        let found = tx.query_in_order(&[(&LATE, &late), (&TRIED, &tried)]).await?;
        let (mut due, mut batch) = (Vec::new(), Vec::new());
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        for row in found.iter().flatten() {
            if due.len() < most
                && let Some((work, action)) = self.advance(row, &mut batch)?
            {
                due.push((work, action));
            }
        }
        tx.finish(&batch).await?;
        Ok(due)
    }
}

impl Tick {
    fn advance(
        &self,
        row: &Row,
        batch: &mut Vec<Statement>,
    ) -> Result<Option<(Delegation, SlaAction)>> {
        let mut work = delegation(row)?;
        let mut watch: SlaWatch = row.json(1, "watch over a delegation")?;
        let Some(action) = watch.tick(self.policy, self.now) else { return Ok(None) };
        if action == SlaAction::Alert {
            work = overdue(work, self.now)?;
        }
        let watch = if watch.is_over() { Value::Null } else { Value::json(&watch)? };
        let params = vec![
            self.org.into(),
            work.id.into(),
            name_of(&work.status)?,
            Value::json(&work)?,
            watch,
            self.now.into(),
        ];
        batch.push(Statement { sql: &TICKED, params, must: None });
        Ok(Some((work, action)))
    }
}

/// The work as overdue, if it is not so already.
fn overdue(work: Delegation, now: Timestamp) -> Result<Delegation> {
    let id = work.id;
    let mut board = Board::from(vec![work]);
    // The alert comes at the deadline, and overdue is what is past it.
    let past = now + Duration::from_millis(1);
    let _overdue_before = board.update(id, DelegationStatus::Overdue, past);
    Ok(board.get(id)?.clone())
}
