//! Workflow instances: their state, tasks, signals and events. What a workflow is and
//! which step comes next is decided in `ostler_domain::workflow`; the store makes each
//! change one short transaction and lets only the lease holder make it.
//!
//! | file | holds |
//! |---|---|
//! | `claim`   | leases of workflows, and checkpoints of their tasks |
//! | `commit`  | the transaction that advances a workflow |
//! | `events`  | named events that steps wait for |
//! | `reopen`  | running a failed workflow again |
//! | `signals` | answers and cancellation from outside |

pub(crate) mod claim;
pub(crate) mod commit;
pub(crate) mod events;
pub(crate) mod reopen;
pub(crate) mod signals;

use ostler_domain::id::{OrgId, WorkflowId};
use ostler_domain::time::Timestamp;
use serde_json::json;

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::conversation::turn::NewEvent;
use crate::error::{Result, StoreError};
use crate::events as event_log;

/// The most bytes of a definition, an input or a result.
const MAX_BYTES: usize = 4 << 20;

/// A workflow to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorkflow {
    pub id: WorkflowId,
    pub name: String,
    /// JSON.
    pub definition: String,
    /// JSON.
    pub input: String,
    /// The initial progress, as JSON.
    pub state: String,
}

/// A stored workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWorkflow {
    pub id: WorkflowId,
    pub name: String,
    /// For example `running` or `done`.
    pub status: String,
    /// JSON.
    pub definition: String,
    /// JSON.
    pub input: String,
    /// The initial progress, as JSON.
    pub state: String,
    /// In credits.
    pub spent: u64,
    pub cancelled: bool,
    /// Whether a worker holds its lease or it is due.
    pub due: bool,
    /// When the lease of the worker that runs it ends, unless it is renewed.
    pub leased_until: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A task of a workflow step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredTask {
    pub task: String,
    /// `None` while the task is unfinished.
    pub result: Option<String>,
    /// The state of the task's unfinished turn, as JSON.
    pub checkpoint: Option<String>,
    /// The decisions and cost of the task, as JSON.
    pub record: Option<String>,
}

const START: Sql = sql!(
    "INSERT INTO workflows (org, id, name, status, definition, input, state, due_at, created_at,
       updated_at)
     VALUES (?1, ?2, ?3, 'running', ?4, ?5, ?6, now_ms(), now_ms(), now_ms())"
);
const GET: Sql = sql!(
    "SELECT id, name, status, definition, input, state, spent, cancelled, created_at, updated_at,
       CASE WHEN lease_until > now_ms() OR due_at <= now_ms() THEN 1 ELSE 0 END,
       CASE WHEN lease_until > now_ms() THEN lease_until ELSE NULL END
     FROM workflows WHERE org = ?1 AND id = ?2"
);
const LIST: Sql = sql!(
    "SELECT id, name, status, definition, input, state, spent, cancelled, created_at, updated_at,
       CASE WHEN lease_until > now_ms() OR due_at <= now_ms() THEN 1 ELSE 0 END,
       CASE WHEN lease_until > now_ms() THEN lease_until ELSE NULL END
     FROM workflows WHERE org = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
);
const OPEN: Sql = sql!(
    "SELECT id, name, status, definition, input, state, spent, cancelled, created_at, updated_at,
       CASE WHEN lease_until > now_ms() OR due_at <= now_ms() THEN 1 ELSE 0 END,
       CASE WHEN lease_until > now_ms() THEN lease_until ELSE NULL END
     FROM workflows WHERE org = ?1 AND status NOT IN ('done', 'failed', 'cancelled')
     ORDER BY id DESC LIMIT ?2"
);
const TASKS: Sql = sql!(
    "SELECT task, result, checkpoint, record FROM workflow_tasks
     WHERE org = ?1 AND workflow = ?2 ORDER BY task"
);

impl OrgStore<'_> {
    /// Stores a new workflow, due at once.
    pub fn start_workflow(&self, new: NewWorkflow) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| start(tx, org, &new))
    }

    /// Returns a workflow and its tasks.
    pub fn workflow(&self, id: WorkflowId) -> StoreFuture<(StoredWorkflow, Vec<StoredTask>)> {
        let org = self.org;
        self.read(move |tx| get(tx, org, id))
    }

    /// Returns the newest workflows that have not ended.
    pub fn open_workflows(&self, limit: u32) -> StoreFuture<Vec<StoredWorkflow>> {
        self.rows(&OPEN, [limit.into()], read_workflow)
    }

    /// Returns the workflows before `before`, newest first.
    pub fn workflows(
        &self,
        before: Option<WorkflowId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredWorkflow>> {
        let before = before.unwrap_or(WorkflowId::from_u128(u128::MAX));
        self.rows(&LIST, [before.into(), limit.into()], read_workflow)
    }
}

/// Stores a new workflow, inside a transaction.
pub(crate) fn start(tx: &Tx, org: OrgId, new: &NewWorkflow) -> Result<()> {
    let NewWorkflow { id, name, definition, input, state } = new;
    for text in [definition, input, state] {
        check_size("workflow", text)?;
    }
    let params = [
        org.into(),
        (*id).into(),
        name.as_str().into(),
        definition.as_str().into(),
        input.as_str().into(),
        state.as_str().into(),
    ];
    tx.execute(&START, &params)?;
    let data = json!({"workflow": id, "name": name}).to_string();
    let started = NewEvent { kind: "workflow_started".into(), data };
    let event: Vec<Statement> = event_log::append(org, None, &[started])?.into_iter().collect();
    tx.batch(&event).map(drop)
}

fn get(tx: &Tx, org: OrgId, id: WorkflowId) -> Result<(StoredWorkflow, Vec<StoredTask>)> {
    let key = [Value::from(org), id.into()];
    let row = tx.first(&GET, &key)?.ok_or(StoreError::NotFound("workflow"))?;
    let tasks = tx.query(&TASKS, &key)?;
    Ok((read_workflow(&row)?, tasks.iter().map(read_task).collect::<Result<_>>()?))
}

fn read_workflow(row: &Row) -> Result<StoredWorkflow> {
    Ok(StoredWorkflow {
        id: row.id(0)?,
        name: row.text(1)?.to_owned(),
        status: row.text(2)?.to_owned(),
        definition: row.text(3)?.to_owned(),
        input: row.text(4)?.to_owned(),
        state: row.text(5)?.to_owned(),
        spent: u64::try_from(row.int(6)?).unwrap_or_default(),
        cancelled: row.int(7)? != 0,
        created_at: row.time(8)?,
        updated_at: row.time(9)?,
        due: row.int(10)? != 0,
        leased_until: row.opt_time(11)?,
    })
}

fn read_task(row: &Row) -> Result<StoredTask> {
    Ok(StoredTask {
        task: row.text(0)?.to_owned(),
        result: row.opt_parsed(1, "result")?,
        checkpoint: row.opt_parsed(2, "turn")?,
        record: row.opt_parsed(3, "record")?,
    })
}

const fn check_size(what: &'static str, text: &str) -> Result<()> {
    if text.len() > MAX_BYTES {
        return Err(StoreError::TooLarge { what, limit: MAX_BYTES });
    }
    Ok(())
}
