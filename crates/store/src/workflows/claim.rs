//! Who has a workflow: one worker at a time, for as long as it says it is there,
//! by the database's clock.

use std::time::Duration;

use ostler_domain::id::{OrgId, WorkflowId};

use super::heard::{Heard, hear};
use super::{StoredTask, StoredWorkflow, check_size, get};
use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

/// The right to a workflow. Only [`Store::claim_workflow`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkflowLease {
    pub(super) org: OrgId,
    pub(super) workflow: WorkflowId,
    pub(super) token: i64,
}

impl WorkflowLease {
    /// The org.
    pub const fn org(&self) -> OrgId {
        self.org
    }

    /// The workflow.
    pub const fn workflow(&self) -> WorkflowId {
        self.workflow
    }

    pub(super) fn place(&self) -> [Value; 2] {
        [self.org.into(), self.workflow.into()]
    }
}

/// Whether a workflow that did not come on was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// It was, and counts.
    Yes,
    /// It was not: what stood in the way is not its fault.
    No,
}

/// A workflow that somebody took up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedWorkflow {
    /// The right to it.
    pub lease: WorkflowLease,
    /// How often it was taken up since it last came on, this time included.
    pub tries: u32,
    /// The workflow.
    pub workflow: StoredWorkflow,
    /// What came of its steps.
    pub tasks: Vec<StoredTask>,
    /// What was said to it.
    pub heard: Heard,
}

const CLAIM: Sql = Sql {
    sqlite: "UPDATE workflows SET lease_token = lease_token + 1, lease_until = now_ms() + ?1,
         tries = tries + 1
       WHERE (org, id) = (
         SELECT w.org, w.id FROM workflows w
         WHERE w.due_at <= (SELECT now_ms()) AND w.lease_until <= (SELECT now_ms())
         ORDER BY w.due_at LIMIT 1)
       RETURNING org, id, lease_token, tries",
    postgres: "UPDATE workflows SET lease_token = lease_token + 1, lease_until = now_ms() + $1,
         tries = tries + 1
       WHERE (org, id) = (
         SELECT w.org, w.id FROM workflows w
         WHERE w.due_at <= (SELECT now_ms()) AND w.lease_until <= (SELECT now_ms())
         ORDER BY w.due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING org, id, lease_token, tries",
};
const HOLD: Sql = Sql {
    sqlite: "UPDATE workflows SET lease_until = max(lease_until, now_ms() + ?4)
       WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0
       RETURNING heard, cancelled",
    postgres: "UPDATE workflows SET lease_until = greatest(lease_until, now_ms() + $4)
       WHERE org = $1 AND id = $2 AND lease_token = $3 AND lease_until > 0
       RETURNING heard, cancelled",
};
const SAVE: Sql = sql!(
    "INSERT INTO workflow_tasks (org, workflow, task, saved, updated_at)
     VALUES (?1, ?2, ?3, ?4, now_ms())
     ON CONFLICT (org, workflow, task) DO UPDATE
       SET saved = excluded.saved, updated_at = excluded.updated_at"
);
const TAKEN: Sql = sql!(
    "UPDATE workflow_answers SET taken = 1
     WHERE org = ?1 AND workflow = ?2 AND task = ?3 AND question = ?4"
);

const RELEASE: Sql = sql!(
    "UPDATE workflows SET lease_until = 0, due_at = now_ms() + ?4, tries = tries - ?5
     WHERE org = ?1 AND id = ?2 AND lease_token = ?3"
);

impl Store {
    /// Takes up a workflow that somebody is to look at, of whatever org, the one
    /// that has waited longest first. It is kept from others for this time.
    pub async fn claim_workflow(&self, lasts: Duration) -> Result<Option<ClaimedWorkflow>> {
        self.write(Claim(lasts)).await
    }

    /// Keeps a workflow for longer, and hears what was said to it.
    pub async fn hold_workflow(&self, lease: WorkflowLease, lasts: Duration) -> Result<Heard> {
        self.write(Hold(lease, lasts)).await
    }

    /// Gives a workflow back that did not come on; somebody looks at it again
    /// after this time. One that nobody could try was not tried.
    pub async fn release_workflow(
        &self,
        lease: WorkflowLease,
        again_in: Duration,
        tried: Tried,
    ) -> Result<()> {
        self.write(Release(lease, again_in, tried)).await
    }

    /// Stores where the turn of a task stands before it touches something
    /// outside, or what came of that, with the answers that it goes on with. The
    /// workflow is kept for at least this time.
    pub async fn save_workflow_task(
        &self,
        lease: WorkflowLease,
        task: &str,
        saved: String,
        taken: &[String],
        lasts: Duration,
    ) -> Result<()> {
        let (task, taken) = (task.to_owned(), taken.to_vec());
        self.write(Save { lease, task, saved, taken, lasts }).await
    }
}

struct Claim(Duration);

impl Operation for Claim {
    type Output = Option<ClaimedWorkflow>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let Some(row) = tx.first(&CLAIM, &[self.0.into()]).await? else { return Ok(None) };
        let lease = WorkflowLease { org: row.id(0)?, workflow: row.id(1)?, token: row.int(2)? };
        let tries = u32::try_from(row.int(3)?).unwrap_or(u32::MAX);
        let (workflow, tasks) = get(tx, lease.org, lease.workflow).await?;
        let heard = hold(tx, lease, self.0).await?;
        Ok(Some(ClaimedWorkflow { lease, tries, workflow, tasks, heard }))
    }
}

struct Hold(WorkflowLease, Duration);

impl Operation for Hold {
    type Output = Heard;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Heard> {
        hold(tx, self.0, self.1).await
    }
}

struct Release(WorkflowLease, Duration, Tried);

impl Operation for Release {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let [org, workflow] = self.0.place();
        let undo = i64::from(self.2 == Tried::No);
        let params = [org, workflow, self.0.token.into(), self.1.into(), undo.into()];
        tx.execute(&RELEASE, &params).await.map(drop)
    }
}

async fn hold<T: Tx>(tx: &T, lease: WorkflowLease, lasts: Duration) -> Result<Heard> {
    let [org, workflow] = lease.place();
    let params = [org, workflow, lease.token.into(), lasts.into()];
    let row = tx.first(&HOLD, &params).await?.ok_or(StoreError::StaleLease)?;
    let (count, cancelled) = (row.int(0)?, row.int(1)? != 0);
    Ok(Heard { count, cancelled, answers: hear(tx, lease).await? })
}

struct Save {
    lease: WorkflowLease,
    task: String,
    saved: String,
    taken: Vec<String>,
    lasts: Duration,
}

impl Operation for Save {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.lease.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        check_size("turn", &self.saved)?;
        hold(tx, self.lease, self.lasts).await?;
        let at = |more: &str| {
            let [org, workflow] = self.lease.place();
            [org, workflow, self.task.as_str().into(), more.into()]
        };
        tx.execute(&SAVE, &at(&self.saved)).await?;
        for question in &self.taken {
            tx.execute(&TAKEN, &at(question)).await?;
        }
        Ok(())
    }
}
