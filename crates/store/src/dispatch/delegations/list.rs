//! Lists of delegations, page by page.

use ostler_domain::dispatch::delegation::Delegation;
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::id::{DelegationId, OrgId};
use ostler_domain::time::Timestamp;

use super::delegation;
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::Result;

/// Which delegations are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhichDelegations {
    /// All of them.
    All,
    /// What an agent has.
    Of(AgentName),
    /// What waits for something that is not finished.
    Blocked,
    /// What can be worked on: not finished, and waiting for nothing.
    Ready,
    /// What should have been finished before this moment and is not.
    OverdueAt(Timestamp),
    /// What waits for this one, or waited for it.
    After(DelegationId),
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
    /// Some of the delegations after one of them, oldest first.
    pub async fn delegations(
        &self,
        which: WhichDelegations,
        after: Option<DelegationId>,
        most: u32,
    ) -> Result<Vec<Delegation>> {
        let after = after.unwrap_or(DelegationId::from_u128(0));
        self.store.read(List { org: self.org, which, after, most }).await
    }
}

struct List {
    org: OrgId,
    which: WhichDelegations,
    after: DelegationId,
    most: u32,
}

impl Operation for List {
    type Output = Vec<Delegation>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<Delegation>> {
        let (sql, of) = match &self.which {
            WhichDelegations::All => (&ALL, None),
            WhichDelegations::Of(agent) => (&OF, Some(Value::from(agent.as_str()))),
            WhichDelegations::Blocked => (&BLOCKED, None),
            WhichDelegations::Ready => (&READY, None),
            WhichDelegations::OverdueAt(now) => (&OVERDUE, Some((*now).into())),
            WhichDelegations::After(id) => (&AFTER, Some((*id).into())),
        };
        let mut params = vec![self.org.into(), self.after.into(), self.most.into()];
        params.extend(of);
        tx.query(sql, &params).await?.iter().map(delegation).collect()
    }
}
