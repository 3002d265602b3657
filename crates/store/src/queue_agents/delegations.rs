//! Delegations to queue agents, and which of them block which.
//!
//! The domain's `DelegationBoard` decides; a transaction loads the relevant part of it. Whether a
//! delegation is blocked is decided while its own row is locked. Changes that affect others
//! (a new blocker, a completion) are decided while the org's row is locked, which is always
//! locked first. A complete delegation stays complete, so the rows of blockers need no
//! lock.

mod list;
mod tick;

use ostler_domain::id::{DelegationId, OrgId};
use ostler_domain::queue_agent::delegation::{
    Delegation, DelegationBoard, DelegationRefused, DelegationStatus,
};
use ostler_domain::queue_agent::sla::SlaWatch;
use ostler_domain::time::Timestamp;

use super::{MAX_BYTES, check_count, check_size, variant_name};
use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};
use crate::tenancy::orgs;

pub use list::DelegationFilter;

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
/// Locks the row until the transaction ends.
const LOCK: Sql = Sql {
    sqlite: "SELECT data FROM queue_delegations WHERE org = ?1 AND id = ?2",
    postgres: "SELECT data FROM queue_delegations WHERE org = $1 AND id = $2 FOR UPDATE",
};
const ADD_BLOCKER: Sql = sql!(
    "INSERT INTO queue_blockers (org, task, blocker, open) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (org, task, blocker) DO NOTHING"
);
const COMPLETE_BLOCKER: Sql =
    sql!("UPDATE queue_blockers SET open = 0 WHERE org = ?1 AND blocker = ?2");
/// The blockers of a delegation.
const BLOCKERS: Sql = sql!(
    "SELECT data FROM queue_delegations WHERE org = ?1 AND id IN (
       SELECT blocker FROM queue_blockers WHERE org = ?1 AND task = ?2)"
);
/// The blockers of a delegation, the delegations it blocks, and their other blockers.
const NEIGHBOURS: Sql = sql!(
    "SELECT data FROM queue_delegations WHERE org = ?1 AND id IN (
       SELECT blocker FROM queue_blockers WHERE org = ?1 AND task = ?2
       UNION SELECT task FROM queue_blockers WHERE org = ?1 AND blocker = ?2
       UNION SELECT other.blocker FROM queue_blockers mine
         JOIN queue_blockers other ON other.org = mine.org AND other.task = mine.task
         WHERE mine.org = ?1 AND mine.blocker = ?2)"
);
/// A delegation and all its direct and indirect blockers.
const UPSTREAM: Sql = sql!(
    "WITH RECURSIVE up (id) AS (
       SELECT id FROM queue_delegations WHERE org = ?1 AND id = ?2
       UNION SELECT b.blocker FROM up
         JOIN queue_blockers b ON b.org = ?1 AND b.task = up.id AND b.open = 1)
     SELECT d.data FROM up JOIN queue_delegations d ON d.org = ?1 AND d.id = up.id"
);

impl OrgStore<'_> {
    /// Stores a new delegation. Its blockers must exist.
    pub fn create_delegation(&self, delegation: Delegation) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| create_delegation(tx, org, &delegation))
    }

    /// Returns a delegation.
    pub fn delegation(&self, id: DelegationId) -> StoreFuture<Option<Delegation>> {
        self.optional(&GET, [id.into()], read_delegation)
    }

    /// Changes the status of a delegation and returns the delegations that became ready by it.
    /// Of several concurrent completions of the last blockers, one returns them.
    pub fn update_delegation(
        &self,
        id: DelegationId,
        to: DelegationStatus,
        now: Timestamp,
    ) -> StoreFuture<Vec<Delegation>> {
        let org = self.org;
        self.write(move |tx| update_delegation(tx, org, id, to, now))
    }

    /// Adds a blocker to a delegation. Fails with [`StoreError::Delegation`] if that would
    /// close a cycle.
    pub fn block_delegation(&self, task: DelegationId, blocker: DelegationId) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| block_delegation(tx, org, task, blocker))
    }
}

pub(crate) fn create_delegation(tx: &Tx, org: OrgId, delegation: &Delegation) -> Result<()> {
    check_size("description of a delegation", &delegation.description, MAX_BYTES)?;
    check_count("blockers of a delegation", delegation.blocked_by.len())?;
    let mut board = DelegationBoard::default();
    if !delegation.blocked_by.is_empty() {
        orgs::lock_org(tx, org)?;
        let known = delegation.blocked_by.iter().chain([&delegation.id]);
        let keys = known.map(|id| vec![org.into(), (*id).into()]);
        let found = tx.query_each(&GET, &keys.collect::<Vec<_>>())?;
        board = read_board(found.iter().flatten())?;
    }
    board.delegate(delegation.clone())?;
    let open = delegation.status != DelegationStatus::Complete;
    let watch = delegation.due.filter(|_| open).map(SlaWatch::new);
    let params = vec![
        org.into(),
        delegation.id.into(),
        delegation.assignee.as_str().into(),
        variant_name(&delegation.status)?,
        delegation.due.into(),
        Value::json(delegation)?,
        watch.map_or(Ok(Value::Null), |watch| Value::json(&watch))?,
    ];
    let mut batch = vec![Statement { sql: &INSERT, params, on_no_rows: None }];
    for blocker in &delegation.blocked_by {
        batch.push(blocker_statement(org, &board, delegation.id, *blocker)?);
    }
    match tx.finish(&batch) {
        Err(StoreError::Conflict(_)) => Err(DelegationRefused::Exists(delegation.id).into()),
        other => other.map(drop),
    }
}

pub(crate) fn update_delegation(
    tx: &Tx,
    org: OrgId,
    id: DelegationId,
    to: DelegationStatus,
    now: Timestamp,
) -> Result<Vec<Delegation>> {
    let completes = to == DelegationStatus::Complete;
    if completes {
        orgs::lock_org(tx, org)?;
    }
    let key = [org.into(), id.into()];
    let related = if completes { &NEIGHBOURS } else { &BLOCKERS };
    let found = tx.query_in_order(&[(&LOCK, &key), (related, &key)])?;
    let mut board = read_board(found.iter().flatten())?;
    let ready = board.update(id, to, now)?;
    let mut batch = vec![update_statement(org, board.get(id)?)?];
    if completes {
        batch.push(Statement { sql: &COMPLETE_BLOCKER, params: key.into(), on_no_rows: None });
    }
    tx.finish(&batch)?;
    ready.into_iter().map(|id| Ok(board.get(id)?.clone())).collect()
}

fn block_delegation(tx: &Tx, org: OrgId, task: DelegationId, blocker: DelegationId) -> Result<()> {
    orgs::lock_org(tx, org)?;
    let (task_key, blocker_key) = ([org.into(), task.into()], [org.into(), blocker.into()]);
    let found = tx.query_in_order(&[(&LOCK, &task_key), (&UPSTREAM, &blocker_key)])?;
    let mut board = read_board(found.iter().flatten())?;
    board.block(task, blocker)?;
    let delegation = board.get(task)?;
    check_count("blockers of a delegation", delegation.blocked_by.len())?;
    tx.finish(&[update_statement(org, delegation)?, blocker_statement(org, &board, task, blocker)?])
        .map(drop)
}

fn update_statement(org: OrgId, delegation: &Delegation) -> Result<Statement> {
    let params = vec![
        org.into(),
        delegation.id.into(),
        variant_name(&delegation.status)?,
        Value::json(delegation)?,
    ];
    Ok(Statement { sql: &UPDATE, params, on_no_rows: None })
}

fn blocker_statement(
    org: OrgId,
    board: &DelegationBoard,
    task: DelegationId,
    blocker: DelegationId,
) -> Result<Statement> {
    let open = board.get(blocker)?.status != DelegationStatus::Complete;
    let params = vec![org.into(), task.into(), blocker.into(), Value::Int(open.into())];
    Ok(Statement { sql: &ADD_BLOCKER, params, on_no_rows: None })
}

/// Builds a board from rows, which may contain duplicates.
fn read_board<'r>(rows: impl Iterator<Item = &'r Row>) -> Result<DelegationBoard> {
    Ok(DelegationBoard::from(rows.map(read_delegation).collect::<Result<Vec<_>>>()?))
}

fn read_delegation(row: &Row) -> Result<Delegation> {
    row.json(0, "delegation")
}
