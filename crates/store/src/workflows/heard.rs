//! What is said to a workflow from outside: answers, and that it is to stop.
//! Whoever says it needs no lease; whoever has the workflow, or takes it up,
//! hears it.

use ostler_domain::id::{OrgId, WorkflowId};

use super::check_size;
use super::claim::WorkflowLease;
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

/// An answer to a question of a step, or an event that reached it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowAnswer {
    /// What the step does.
    pub task: String,
    /// The question, by the name that the step knows it by.
    pub question: String,
    /// The answer, as JSON.
    pub data: String,
}

/// What was said to a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heard {
    /// How often something was said, in all.
    pub count: i64,
    /// Whether it is to stop.
    pub cancelled: bool,
    /// Answers that no step has gone on with yet, in the order in which they came.
    pub answers: Vec<WorkflowAnswer>,
}

pub(super) const GIVE: Sql = sql!(
    "INSERT INTO workflow_answers (org, workflow, task, question, data, answered_at)
     VALUES (?1, ?2, ?3, ?4, ?5, now_ms())
     ON CONFLICT (org, workflow, task, question) DO NOTHING"
);
/// Somebody is to look at it now.
pub(super) const CALL: Sql = sql!(
    "UPDATE workflows SET heard = heard + 1, due_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND status NOT IN ('done', 'failed', 'cancelled')"
);
const CANCEL: Sql = sql!(
    "UPDATE workflows SET cancelled = 1, heard = heard + 1, due_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND status NOT IN ('done', 'failed', 'cancelled')
       AND cancelled = 0"
);
const EXISTS: Sql = sql!("SELECT 1 FROM workflows WHERE org = ?1 AND id = ?2");
const OPEN: Sql = sql!(
    "SELECT task, question, data FROM workflow_answers
     WHERE org = ?1 AND workflow = ?2 AND taken = 0 ORDER BY answered_at, task, question"
);

impl OrgStore<'_> {
    /// Answers a question of a workflow's step. The first answer counts: a second
    /// is [`StoreError::Conflict`].
    pub async fn answer_workflow(&self, id: WorkflowId, answer: WorkflowAnswer) -> Result<()> {
        self.store.write(Give(self.org, id, answer)).await
    }

    /// Stops a workflow; false if it is over or was stopped already.
    pub async fn cancel_workflow(&self, id: WorkflowId) -> Result<bool> {
        self.store.write(Cancel(self.org, id)).await
    }
}

/// The answers that no step has gone on with yet.
pub(super) async fn hear<T: Tx>(tx: &T, lease: WorkflowLease) -> Result<Vec<WorkflowAnswer>> {
    let rows = tx.query(&OPEN, &lease.place()).await?;
    let answers = rows.iter().map(|row| {
        let [task, question, data] = [row.text(0)?, row.text(1)?, row.text(2)?].map(str::to_owned);
        Ok(WorkflowAnswer { task, question, data })
    });
    answers.collect()
}

pub(crate) struct Give(pub(crate) OrgId, pub(crate) WorkflowId, pub(crate) WorkflowAnswer);

impl Operation for Give {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let WorkflowAnswer { task, question, data } = &self.2;
        check_size("answer", data)?;
        let place = [Value::from(self.0), self.1.into()];
        if tx.execute(&CALL, &place).await? == 0 {
            return Err(StoreError::NotFound("workflow that waits"));
        }
        let [org, workflow] = place;
        let texts = [task, question, data].map(|text| Value::from(text.as_str()));
        let [task, question, data] = texts;
        if tx.execute(&GIVE, &[org, workflow, task, question, data]).await? == 0 {
            return Err(StoreError::Conflict("an answer to this question".to_owned()));
        }
        Ok(())
    }
}

pub(crate) struct Cancel(pub(crate) OrgId, pub(crate) WorkflowId);

impl Operation for Cancel {
    type Output = bool;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<bool> {
        let place = [Value::from(self.0), self.1.into()];
        if tx.execute(&CANCEL, &place).await? > 0 {
            return Ok(true);
        }
        tx.first(&EXISTS, &place).await?.ok_or(StoreError::NotFound("workflow"))?;
        Ok(false)
    }
}
