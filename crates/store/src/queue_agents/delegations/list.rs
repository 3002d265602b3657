//! Listing delegations in pages.

use ostler_domain::id::DelegationId;
use ostler_domain::queue_agent::delegation::Delegation;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::time::Timestamp;

use super::read_delegation;
use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;

/// Which delegations to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelegationFilter {
    All,
    AssignedTo(AgentName),
    /// Those with an incomplete blocker.
    Blocked,
    /// Those that are incomplete and not blocked.
    Ready,
    /// Those that were due before this time and are incomplete.
    OverdueAt(Timestamp),
    /// Those that this one blocks or has blocked.
    BlockedBy(DelegationId),
}

const ALL: Sql =
    sql!("SELECT data FROM queue_delegations WHERE org = ?1 AND id > ?2 ORDER BY id LIMIT ?3");
const OF: Sql = sql!(
    "SELECT data FROM queue_delegations WHERE org = ?1 AND assignee = ?4 AND id > ?2
     ORDER BY id LIMIT ?3"
);
const BLOCKED: Sql = sql!(
    "SELECT data FROM queue_delegations WHERE org = ?1 AND id IN (
       SELECT DISTINCT task FROM queue_blockers WHERE org = ?1 AND open = 1 AND task > ?2
       ORDER BY task LIMIT ?3)
     ORDER BY id"
);
const READY: Sql = sql!(
    "SELECT d.data FROM queue_delegations d
     WHERE d.org = ?1 AND d.status <> 'complete' AND d.id > ?2
       AND NOT EXISTS (SELECT 1 FROM queue_blockers b
                       WHERE b.org = ?1 AND b.task = d.id AND b.open = 1)
     ORDER BY d.id LIMIT ?3"
);
const AFTER: Sql = sql!(
    "SELECT d.data FROM queue_blockers b
     JOIN queue_delegations d ON d.org = b.org AND d.id = b.task
     WHERE b.org = ?1 AND b.blocker = ?4 AND b.task > ?2 ORDER BY b.task LIMIT ?3"
);
const OVERDUE: Sql = sql!(
    "SELECT data FROM queue_delegations
     WHERE org = ?1 AND status <> 'complete' AND due_at IS NOT NULL AND due_at < ?4 AND id > ?2
     ORDER BY id LIMIT ?3"
);

impl OrgStore<'_> {
    /// Returns the matching delegations after `after`, oldest first.
    pub fn delegations(
        &self,
        filter: DelegationFilter,
        after: Option<DelegationId>,
        limit: u32,
    ) -> StoreFuture<Vec<Delegation>> {
        let (sql, of) = match filter {
            DelegationFilter::All => (&ALL, None),
            DelegationFilter::AssignedTo(agent) => (&OF, Some(Value::from(agent.as_str()))),
            DelegationFilter::Blocked => (&BLOCKED, None),
            DelegationFilter::Ready => (&READY, None),
            DelegationFilter::OverdueAt(now) => (&OVERDUE, Some(now.into())),
            DelegationFilter::BlockedBy(id) => (&AFTER, Some(id.into())),
        };
        let after = after.unwrap_or(DelegationId::from_u128(0));
        let mut params = vec![self.org.into(), after.into(), limit.into()];
        params.extend(of);
        self.read(move |tx| tx.query(sql, &params)?.iter().map(read_delegation).collect())
    }
}
