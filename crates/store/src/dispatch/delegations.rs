//! Work given to agents, and what waits for what.
//!
//! `Board` of the domain decides; a transaction shows it the part of the board
//! that counts. Whether something waits is decided while the work's own row is
//! held. What changes for others (a dependency, or work that is finished) is
//! decided while the org's row is held, which is always taken first. Finished
//! work stays finished, so that nobody needs the rows of what they wait for.

mod list;
mod tick;

use ostler_domain::dispatch::delegation::{Board, Delegation, DelegationRefused, DelegationStatus};
use ostler_domain::dispatch::sla::SlaWatch;
use ostler_domain::id::{DelegationId, OrgId};
use ostler_domain::time::Timestamp;

use super::{MOST_BYTES, check_count, check_size, name_of};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};
use crate::{OrgStore, orgs};

pub use list::WhichDelegations;

const INSERT: Sql = sql!(
    "INSERT INTO queue_delegations (org, id, assignee, status, due_at, data, watch, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, now_ms())"
);
const UPDATE: Sql = sql!(
    "UPDATE queue_delegations SET status = ?3, data = ?4, updated_at = now_ms(),
       watch = CASE WHEN ?3 = 'complete' THEN NULL ELSE watch END
     WHERE org = ?1 AND id = ?2"
);
const GET: Sql = sql!("SELECT data FROM queue_delegations WHERE org = ?1 AND id = ?2");
/// Holds the row until the transaction ends.
const HOLD: Sql = Sql {
    sqlite: "SELECT data FROM queue_delegations WHERE org = ?1 AND id = ?2",
    postgres: "SELECT data FROM queue_delegations WHERE org = $1 AND id = $2 FOR UPDATE",
};
const ADD_BLOCKER: Sql = sql!(
    "INSERT INTO queue_blockers (org, task, blocker, open) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (org, task, blocker) DO NOTHING"
);
const FINISH_BLOCKER: Sql =
    sql!("UPDATE queue_blockers SET open = 0 WHERE org = ?1 AND blocker = ?2");
/// What a piece of work waits for.
const BEFORE: Sql = sql!(
    "SELECT data FROM queue_delegations WHERE org = ?1 AND id IN (
       SELECT blocker FROM queue_blockers WHERE org = ?1 AND task = ?2)"
);
/// What a piece of work waits for, what waits for it, and what else that waits
/// for.
const AROUND: Sql = sql!(
    "SELECT data FROM queue_delegations WHERE org = ?1 AND id IN (
       SELECT blocker FROM queue_blockers WHERE org = ?1 AND task = ?2
       UNION SELECT task FROM queue_blockers WHERE org = ?1 AND blocker = ?2
       UNION SELECT other.blocker FROM queue_blockers mine
         JOIN queue_blockers other ON other.org = mine.org AND other.task = mine.task
         WHERE mine.org = ?1 AND mine.blocker = ?2)"
);
/// All that a piece of work waits for, directly or not, with itself.
const UPSTREAM: Sql = sql!(
    "WITH RECURSIVE up (id) AS (
       SELECT id FROM queue_delegations WHERE org = ?1 AND id = ?2
       UNION SELECT b.blocker FROM up
         JOIN queue_blockers b ON b.org = ?1 AND b.task = up.id AND b.open = 1)
     SELECT d.data FROM up JOIN queue_delegations d ON d.org = ?1 AND d.id = up.id"
);

impl OrgStore<'_> {
    /// Takes new work on. It waits for what exists already.
    pub async fn delegate(&self, work: Delegation) -> Result<()> {
        self.store.write(Delegate(self.org, work)).await
    }

    /// A piece of work.
    pub async fn delegation(&self, id: DelegationId) -> Result<Option<Delegation>> {
        self.store.read(Get(self.org, id)).await
    }

    /// Changes where a piece of work stands; returns what became ready by it.
    /// Of several who finish the last blockers at once, one is told.
    pub async fn update_delegation(
        &self,
        id: DelegationId,
        to: DelegationStatus,
        now: Timestamp,
    ) -> Result<Vec<Delegation>> {
        self.store.write(Update { org: self.org, id, to, now }).await
    }

    /// Makes a piece of work wait for another; a circle is refused.
    pub async fn block_delegation(&self, task: DelegationId, blocker: DelegationId) -> Result<()> {
        self.store.write(Block { org: self.org, task, blocker }).await
    }
}

struct Delegate(OrgId, Delegation);

impl Operation for Delegate {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, work) = self;
        check_size("description of a delegation", &work.description, MOST_BYTES)?;
        check_count("blockers of a delegation", work.blocked_by.len())?;
        let mut board = Board::default();
        if !work.blocked_by.is_empty() {
            orgs::hold(tx, *org).await?;
            let known = work.blocked_by.iter().chain([&work.id]);
            let keys = known.map(|id| vec![(*org).into(), (*id).into()]);
            let found = tx.query_each(&GET, &keys.collect::<Vec<_>>()).await?;
            board = board_of(found.iter().flatten())?;
        }
        board.delegate(work.clone())?;
        let open = work.status != DelegationStatus::Complete;
        let watch = work.due.filter(|_| open).map(SlaWatch::new);
        let params = vec![
            (*org).into(),
            work.id.into(),
            work.assignee.as_str().into(),
            name_of(&work.status)?,
            work.due.into(),
            Value::json(work)?,
            watch.map_or(Ok(Value::Null), |watch| Value::json(&watch))?,
        ];
        let mut batch = vec![Statement { sql: &INSERT, params, must: None }];
        for blocker in &work.blocked_by {
            batch.push(waits(*org, &board, work.id, *blocker)?);
        }
        match tx.finish(&batch).await {
            Err(StoreError::Conflict(_)) => Err(DelegationRefused::Exists(work.id).into()),
            other => other.map(drop),
        }
    }
}

struct Get(OrgId, DelegationId);

impl Operation for Get {
    type Output = Option<Delegation>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<Delegation>> {
        let row = tx.first(&GET, &[self.0.into(), self.1.into()]).await?;
        row.as_ref().map(delegation).transpose()
    }
}

struct Update {
    org: OrgId,
    id: DelegationId,
    to: DelegationStatus,
    now: Timestamp,
}

impl Operation for Update {
    type Output = Vec<Delegation>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<Delegation>> {
        let Self { org, id, to, now } = *self;
        let finishes = to == DelegationStatus::Complete;
        if finishes {
            orgs::hold(tx, org).await?;
        }
        let key = [org.into(), id.into()];
        let others = if finishes { &AROUND } else { &BEFORE };
        let found = tx.query_in_order(&[(&HOLD, &key), (others, &key)]).await?;
        let mut board = board_of(found.iter().flatten())?;
        let ready = board.update(id, to, now)?;
        let mut batch = vec![changed(org, board.get(id)?)?];
        if finishes {
            batch.push(Statement { sql: &FINISH_BLOCKER, params: key.into(), must: None });
        }
        tx.finish(&batch).await?;
        ready.into_iter().map(|id| Ok(board.get(id)?.clone())).collect()
    }
}

struct Block {
    org: OrgId,
    task: DelegationId,
    blocker: DelegationId,
}

impl Operation for Block {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self { org, task, blocker } = *self;
        orgs::hold(tx, org).await?;
        let (mine, theirs) = ([org.into(), task.into()], [org.into(), blocker.into()]);
        let found = tx.query_in_order(&[(&HOLD, &mine), (&UPSTREAM, &theirs)]).await?;
        let mut board = board_of(found.iter().flatten())?;
        board.block(task, blocker)?;
        let work = board.get(task)?;
        check_count("blockers of a delegation", work.blocked_by.len())?;
        tx.finish(&[changed(org, work)?, waits(org, &board, task, blocker)?]).await.map(drop)
    }
}

fn changed(org: OrgId, work: &Delegation) -> Result<Statement> {
    let params = vec![org.into(), work.id.into(), name_of(&work.status)?, Value::json(work)?];
    Ok(Statement { sql: &UPDATE, params, must: None })
}

fn waits(
    org: OrgId,
    board: &Board,
    task: DelegationId,
    blocker: DelegationId,
) -> Result<Statement> {
    let open = board.get(blocker)?.status != DelegationStatus::Complete;
    let params = vec![org.into(), task.into(), blocker.into(), Value::Int(open.into())];
    Ok(Statement { sql: &ADD_BLOCKER, params, must: None })
}

/// The part of the board that was read; the same may have been read twice.
fn board_of<'r>(rows: impl Iterator<Item = &'r Row>) -> Result<Board> {
    Ok(Board::from(rows.map(delegation).collect::<Result<Vec<_>>>()?))
}

fn delegation(row: &Row) -> Result<Delegation> {
    row.json(0, "delegation")
}
