//! Messages of subagents. They belong to a run of their own, not to the messages of the
//! thread, and are deleted with it.

use ostler_domain::id::{RunId, ThreadId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::error::Result;

/// A subagent that has ended, to be stored with the turn that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSubagentRun {
    pub run: RunId,
    /// The calls that lead to it, as a JSON array.
    pub path: String,
    pub agent_type: String,
    /// A JSON array.
    pub messages: String,
}

/// A stored run of a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSubagentRun {
    pub run: RunId,
    pub thread: ThreadId,
    /// The turn of the thread that it belongs to.
    pub turn: RunId,
    /// The calls that lead to it, as a JSON array.
    pub path: String,
    pub agent_type: String,
    pub ended_at: Timestamp,
}

pub(super) const ADD: Sql = sql!(
    "INSERT INTO harness_subagent_runs
       (org, thread, run, turn, path, agent_type, messages, ended_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, now_ms())"
);
pub(super) const DELETE: Sql =
    sql!("DELETE FROM harness_subagent_runs WHERE org = ?1 AND thread = ?2");
const LIST: Sql = sql!(
    "SELECT run, thread, turn, path, agent_type, ended_at FROM harness_subagent_runs
     WHERE org = ?1 AND thread = ?2 ORDER BY ended_at, run LIMIT ?3"
);
const GET: Sql = sql!(
    "SELECT run, thread, turn, path, agent_type, ended_at, messages FROM harness_subagent_runs
     WHERE org = ?1 AND run = ?2"
);

impl OrgStore<'_> {
    /// Returns the runs of the subagents of a thread, the earliest first.
    pub fn subagent_runs(
        &self,
        thread: ThreadId,
        limit: u32,
    ) -> StoreFuture<Vec<StoredSubagentRun>> {
        self.rows(&LIST, [thread.into(), limit.into()], stored_run)
    }

    /// Returns a run of a subagent with its messages, as a JSON array.
    pub fn subagent_run(&self, run: RunId) -> StoreFuture<Option<(StoredSubagentRun, String)>> {
        self.optional(&GET, [run.into()], |row| Ok((stored_run(row)?, row.text(6)?.to_owned())))
    }
}

fn stored_run(row: &Row) -> Result<StoredSubagentRun> {
    Ok(StoredSubagentRun {
        run: row.id(0)?,
        thread: row.id(1)?,
        turn: row.id(2)?,
        path: row.text(3)?.to_owned(),
        agent_type: row.text(4)?.to_owned(),
        ended_at: row.time(5)?,
    })
}
