//! Workflows: what was started, how far it is, and what came of its steps. What
//! a workflow is and what begins next is `ostler_domain::workflow`'s; what is here
//! makes one short transaction of each change, and lets only one worker at a time
//! make them.

pub(crate) mod claim;
pub(crate) mod commit;
pub(crate) mod events;
pub(crate) mod heard;

use ostler_domain::id::{OrgId, WorkflowId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

/// The most bytes of a definition, an input or what a step came to.
const MOST_BYTES: usize = 4 << 20;

/// A workflow to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorkflow {
    /// Its id.
    pub id: WorkflowId,
    /// What it is called.
    pub name: String,
    /// What it is, as JSON.
    pub definition: String,
    /// What it is started with, as JSON.
    pub input: String,
    /// How far it is, as JSON.
    pub state: String,
}

/// A workflow that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWorkflow {
    /// Its id.
    pub id: WorkflowId,
    /// What it is called.
    pub name: String,
    /// Where it stands, in a word.
    pub status: String,
    /// What it is, as JSON.
    pub definition: String,
    /// What it was started with, as JSON.
    pub input: String,
    /// How far it is, as JSON.
    pub state: String,
    /// What it has cost, in credits.
    pub spent: u64,
    /// Whether somebody has stopped it.
    pub cancelled: bool,
    /// Whether somebody has it, or is to look at it now.
    pub due: bool,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it last came on.
    pub updated_at: Timestamp,
}

/// Something that is done for a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredTask {
    /// Which one.
    pub task: String,
    /// What it came to.
    pub result: Option<String>,
    /// The turn that was begun, as JSON.
    pub saved: Option<String>,
    /// The record of what was decided and spent, as JSON.
    pub record: Option<String>,
}

const START: Sql = sql!(
    "INSERT INTO workflows (org, id, name, status, definition, input, state, due_at, created_at,
       updated_at)
     VALUES (?1, ?2, ?3, 'running', ?4, ?5, ?6, now_ms(), now_ms(), now_ms())"
);
const GET: Sql = sql!(
    "SELECT id, name, status, definition, input, state, spent, cancelled, created_at, updated_at,
       CASE WHEN lease_until > now_ms() OR due_at <= now_ms() THEN 1 ELSE 0 END
     FROM workflows WHERE org = ?1 AND id = ?2"
);
const LIST: Sql = sql!(
    "SELECT id, name, status, definition, input, state, spent, cancelled, created_at, updated_at,
       CASE WHEN lease_until > now_ms() OR due_at <= now_ms() THEN 1 ELSE 0 END
     FROM workflows WHERE org = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
);
const TASKS: Sql = sql!(
    "SELECT task, result, saved, record FROM workflow_tasks
     WHERE org = ?1 AND workflow = ?2 ORDER BY task"
);

impl OrgStore<'_> {
    /// Starts a workflow: a worker that looks for one finds it.
    pub async fn start_workflow(&self, new: NewWorkflow) -> Result<()> {
        self.store.write(Start(self.org, new)).await
    }

    /// A workflow and what came of its steps.
    pub async fn workflow(&self, id: WorkflowId) -> Result<(StoredWorkflow, Vec<StoredTask>)> {
        self.store.read(Get(self.org, id)).await
    }

    /// Workflows, newest first; those before the last one of the page before.
    pub async fn workflows(
        &self,
        before: Option<WorkflowId>,
        most: u32,
    ) -> Result<Vec<StoredWorkflow>> {
        let before = before.unwrap_or(WorkflowId::from_u128(u128::MAX));
        self.store.read(List(self.org, before, most)).await
    }
}

pub(crate) struct Start(pub(crate) OrgId, pub(crate) NewWorkflow);

impl Operation for Start {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let NewWorkflow { id, name, definition, input, state } = &self.1;
        for text in [definition, input, state] {
            check_size("workflow", text)?;
        }
        let params = [
            self.0.into(),
            (*id).into(),
            name.as_str().into(),
            definition.as_str().into(),
            input.as_str().into(),
            state.as_str().into(),
        ];
        tx.execute(&START, &params).await.map(drop)
    }
}

struct Get(OrgId, WorkflowId);

impl Operation for Get {
    type Output = (StoredWorkflow, Vec<StoredTask>);

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        get(tx, self.0, self.1).await
    }
}

struct List(OrgId, WorkflowId, u32);

impl Operation for List {
    type Output = Vec<StoredWorkflow>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let params = [self.0.into(), self.1.into(), self.2.into()];
        tx.query(&LIST, &params).await?.iter().map(workflow).collect()
    }
}

async fn get<T: Tx>(
    tx: &T,
    org: OrgId,
    id: WorkflowId,
) -> Result<(StoredWorkflow, Vec<StoredTask>)> {
    let place = [Value::from(org), id.into()];
    let row = tx.first(&GET, &place).await?.ok_or(StoreError::NotFound("workflow"))?;
    let tasks = tx.query(&TASKS, &place).await?;
    Ok((workflow(&row)?, tasks.iter().map(task).collect::<Result<_>>()?))
}

fn workflow(row: &Row) -> Result<StoredWorkflow> {
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
    })
}

fn task(row: &Row) -> Result<StoredTask> {
    Ok(StoredTask {
        task: row.text(0)?.to_owned(),
        result: row.opt_written(1, "result")?,
        saved: row.opt_written(2, "turn")?,
        record: row.opt_written(3, "record")?,
    })
}

const fn check_size(what: &'static str, text: &str) -> Result<()> {
    if text.len() > MOST_BYTES {
        return Err(StoreError::TooLarge { what, limit: MOST_BYTES });
    }
    Ok(())
}
