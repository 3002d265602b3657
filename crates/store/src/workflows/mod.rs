//! Workflow instances: their state, tasks, signals and events. What a workflow is and
//! which step comes next is decided in `ostler_domain::workflow`; the store makes each
//! change one short transaction and lets only the lease holder make it.
//!
//! | file | holds |
//! |---|---|
//! | `children` | workflows that steps start, and their ends |
//! | `claim`   | leases of workflows, and checkpoints of their tasks |
//! | `commit`  | the transaction that advances a workflow |
//! | `definitions` | definitions that an org keeps |
//! | `events`  | named events that steps wait for |
//! | `reopen`  | running a failed workflow again |
//! | `schedules` | schedules, and what happened at their due times |
//! | `signals` | answers and cancellation from outside |

pub(crate) mod children;
pub(crate) mod claim;
pub(crate) mod commit;
pub(crate) mod definitions;
pub(crate) mod events;
pub(crate) mod reopen;
pub(crate) mod schedules;
pub(crate) mod signals;

use ostler_domain::event::{OrgEvent, WorkflowStarted};
use ostler_domain::id::{OrgId, WorkflowId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::conversation::turn::NewEvent;
use crate::error::{Result, StoreError};
use crate::events as event_log;

/// The most bytes of a definition, an input or a result of a workflow.
pub const MAX_WORKFLOW_BYTES: usize = 4 << 20;
/// The most bytes of a definition or an input that is kept to start workflows with. A workflow
/// that starts with it has room for what it is stored with.
const MAX_KEPT_BYTES: usize = 1 << 20;

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
    /// The step that starts it; `None` if nobody waits for its end.
    pub parent: Option<WorkflowParent>,
}

/// The step of a workflow that has started another one and waits for its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowParent {
    pub workflow: WorkflowId,
    pub task: String,
    /// The question that the end answers.
    pub question: String,
    /// The names of the workflows above, from the first to the parent.
    pub ancestors: Vec<String>,
    /// Whether the input holds untrusted content.
    pub untrusted: bool,
}

/// A workflow that a step has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChild {
    pub id: WorkflowId,
    pub name: String,
    pub status: String,
    /// The task of the parent.
    pub task: String,
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
    /// When it continues by itself; `None` while it waits for people or events, or has ended.
    pub continues_at: Option<Timestamp>,
    /// The workflow and the task that have started it.
    pub parent: Option<(WorkflowId, String)>,
    /// The names of the workflows above, from the first to the parent.
    pub ancestors: Vec<String>,
    /// Whether its input holds untrusted content.
    pub untrusted: bool,
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
       updated_at, parent, parent_task, parent_question, ancestors, untrusted)
     VALUES (?1, ?2, ?3, 'running', ?4, ?5, ?6, now_ms(), now_ms(), now_ms(), ?7, ?8, ?9, ?10, ?11)"
);
const GET: Sql = sql!(
    "SELECT id, name, status, definition, input, state, spent, cancelled, created_at, updated_at,
       CASE WHEN lease_until > now_ms() OR due_at <= now_ms() THEN 1 ELSE 0 END,
       CASE WHEN lease_until > now_ms() THEN lease_until ELSE NULL END, due_at,
       parent, parent_task, ancestors, untrusted
     FROM workflows WHERE org = ?1 AND id = ?2"
);
const LIST: Sql = sql!(
    "SELECT id, name, status, definition, input, state, spent, cancelled, created_at, updated_at,
       CASE WHEN lease_until > now_ms() OR due_at <= now_ms() THEN 1 ELSE 0 END,
       CASE WHEN lease_until > now_ms() THEN lease_until ELSE NULL END, due_at,
       parent, parent_task, ancestors, untrusted
     FROM workflows WHERE org = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
);
const OPEN: Sql = sql!(
    "SELECT id, name, status, definition, input, state, spent, cancelled, created_at, updated_at,
       CASE WHEN lease_until > now_ms() OR due_at <= now_ms() THEN 1 ELSE 0 END,
       CASE WHEN lease_until > now_ms() THEN lease_until ELSE NULL END, due_at,
       parent, parent_task, ancestors, untrusted
     FROM workflows WHERE org = ?1 AND status NOT IN ('done', 'failed', 'cancelled')
     ORDER BY id DESC LIMIT ?2"
);
const TASKS: Sql = sql!(
    "SELECT task, result, checkpoint, record FROM workflow_tasks
     WHERE org = ?1 AND workflow = ?2 ORDER BY task"
);

const CHILDREN: Sql = sql!(
    "SELECT id, name, status, parent_task FROM workflows
     WHERE org = ?1 AND parent = ?2 ORDER BY id LIMIT 1000"
);

impl OrgStore<'_> {
    /// Returns the workflows that steps of a workflow have started, oldest first, at most
    /// 1,000.
    pub fn workflow_children(&self, id: WorkflowId) -> StoreFuture<Vec<StoredChild>> {
        self.rows(&CHILDREN, [id.into()], |row| {
            let [name, status, task] =
                [row.text(1)?, row.text(2)?, row.text(3)?].map(str::to_owned);
            Ok(StoredChild { id: row.id(0)?, name, status, task })
        })
    }

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
    let NewWorkflow { id, name, definition, input, state, parent } = new;
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
        parent.as_ref().map(|parent| parent.workflow).into(),
        parent.as_ref().map(|parent| parent.task.clone()).into(),
        parent.as_ref().map(|parent| parent.question.clone()).into(),
        Value::json(&parent.as_ref().map_or(&[][..], |parent| &parent.ancestors))?,
        i64::from(parent.as_ref().is_some_and(|parent| parent.untrusted)).into(),
    ];
    tx.execute(&START, &params)?;
    let started = WorkflowStarted { workflow: *id, name: name.clone() };
    let started = NewEvent::new(&OrgEvent::WorkflowStarted(started));
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
        continues_at: row.opt_time(12)?,
        parent: match row.opt_id(13)? {
            Some(parent) => Some((parent, row.text(14)?.to_owned())),
            None => None,
        },
        ancestors: row.json(15, "ancestors")?,
        untrusted: row.int(16)? != 0,
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
    if text.len() > MAX_WORKFLOW_BYTES {
        return Err(StoreError::TooLarge { what, limit: MAX_WORKFLOW_BYTES });
    }
    Ok(())
}

/// Fails with [`StoreError::TooLarge`] if what is kept to start workflows with is too large.
fn check_value_size(what: &'static str, data: &Value) -> Result<()> {
    match data {
        Value::Text(text) if text.len() > MAX_KEPT_BYTES => {
            Err(StoreError::TooLarge { what, limit: MAX_KEPT_BYTES })
        }
        _ => Ok(()),
    }
}
