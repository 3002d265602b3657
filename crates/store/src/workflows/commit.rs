//! The commit of a workflow: task results, charges, record changes of tools and the
//! workflow's progress in one transaction, which only the lease holder can make.

use std::time::Duration;

use ostler_domain::workflow::EventName;

use super::claim::WorkflowLease;
use super::{NewWorkflow, StoredTask, check_size, children, events};
use crate::Store;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Statement, Tx};
use crate::conversation::record_changes::{self, RecordChange};
use crate::conversation::turn::{NewEvent, stale_changes, statement};
use crate::delivery::notices::{self, NewNotice};
use crate::error::{Result, StoreError};
use crate::events as event_log;
use crate::ledger::{TurnCharges, charge_statement};
use crate::tenancy::audit::{self, NewAuditEntry};

/// Everything that one commit of a workflow changes.
#[derive(Debug, Clone)]
pub struct WorkflowCommit {
    pub lease: WorkflowLease,
    /// The status of the whole workflow, for example `running`.
    pub status: String,
    /// The progress, as JSON.
    pub state: String,
    /// The additional cost, in credits.
    pub spent: u64,
    pub tasks: Vec<StoredTask>,
    /// Answers that tasks have consumed: task and question.
    pub consumed_answers: Vec<(String, String)>,
    pub waits: Vec<WorkflowWait>,
    /// Tasks that no longer wait for events.
    pub ended_waits: Vec<String>,
    /// Whether to delete all waits for events.
    pub clear_waits: bool,
    /// Record changes of local tools.
    pub changes: Vec<RecordChange>,
    /// The audit entries of these changes.
    pub audit: Vec<NewAuditEntry>,
    pub charges: Vec<TurnCharges>,
    pub notices: Vec<NewNotice>,
    /// Workflows that steps start.
    pub children: Vec<NewWorkflow>,
    /// Whether to cancel all workflows that steps have started.
    pub cancel_children: bool,
    /// Set if the workflow has ended: what a parent learns of it, as JSON.
    pub ended: Option<String>,
    /// Events of the org's log.
    pub events: Vec<NewEvent>,
    /// From now on, if the lease is kept.
    pub lease_ttl: Duration,
    pub lease_action: WorkflowLeaseAction,
}

/// A step that starts to wait for an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowWait {
    pub task: String,
    pub event: EventName,
    /// The question that the event answers.
    pub question: String,
}

/// What happens to the lease after a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowLeaseAction {
    /// There is more to do now.
    Keep,
    Release {
        /// The number of signals seen. If there are more, the workflow is due at once.
        seen_signals: i64,
        /// When the workflow is due again without a signal; `None`: never.
        recheck_in: Option<Duration>,
    },
    /// The workflow has ended.
    End,
}

/// Never shortens a lease that was extended for an external call.
const FENCE: Sql = Sql {
    sqlite: "UPDATE workflows SET status = ?4, state = ?5, spent = spent + ?6, attempts = 0,
         lease_until = max(lease_until, now_ms() + ?7), updated_at = now_ms()
       WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0",
    postgres: "UPDATE workflows SET status = $4, state = $5, spent = spent + $6, attempts = 0,
         lease_until = greatest(lease_until, now_ms() + $7), updated_at = now_ms()
       WHERE org = $1 AND id = $2 AND lease_token = $3 AND lease_until > 0",
};
const SAVE_TASK: Sql = sql!(
    "INSERT INTO workflow_tasks (org, workflow, task, result, checkpoint, record, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms())
     ON CONFLICT (org, workflow, task) DO UPDATE
       SET result = coalesce(excluded.result, workflow_tasks.result), checkpoint = excluded.checkpoint,
         record = coalesce(excluded.record, workflow_tasks.record),
         updated_at = excluded.updated_at"
);
const CONSUME_ANSWER: Sql = sql!(
    "UPDATE workflow_answers SET consumed = 1
     WHERE org = ?1 AND workflow = ?2 AND task = ?3 AND question = ?4"
);
const RELEASE: Sql = sql!(
    "UPDATE workflows SET lease_until = 0,
       due_at = CASE WHEN signals = ?3 THEN now_ms() + ?4 ELSE now_ms() END
     WHERE org = ?1 AND id = ?2"
);
const END: Sql =
    sql!("UPDATE workflows SET lease_until = 0, due_at = NULL WHERE org = ?1 AND id = ?2");
const DELETE_WAIT: Sql =
    sql!("DELETE FROM workflow_waits WHERE org = ?1 AND workflow = ?2 AND task = ?3");
const DELETE_WAITS: Sql = sql!("DELETE FROM workflow_waits WHERE org = ?1 AND workflow = ?2");

impl Store {
    /// Commits changes of a workflow. Fails with [`StoreError::StaleLease`] if another
    /// worker holds it, and with [`StoreError::StaleChanges`] if a changed record is no
    /// longer at the version that was read; then the lease remains valid.
    pub fn commit_workflow(&self, commit: WorkflowCommit) -> StoreFuture<()> {
        let org = commit.lease.org;
        let payer = commit.charges.iter().map(|charges| charges.payer).find(|payer| *payer != org);
        self.write_with_others(org, payer, move |tx| run_commit(tx, &commit))
    }
}

fn run_commit(tx: &Tx, commit: &WorkflowCommit) -> Result<()> {
    check_size("workflow", &commit.state)?;
    // Event names are locked before the row, in the same order as publishers do.
    events::lock_names(tx, commit.lease, &commit.waits)?;
    let [org, workflow] = commit.lease.key();
    let params = [
        org,
        workflow,
        commit.lease.token.into(),
        commit.status.as_str().into(),
        commit.state.as_str().into(),
        i64::try_from(commit.spent).unwrap_or(i64::MAX).into(),
        commit.lease_ttl.into(),
    ];
    if tx.execute(&FENCE, &params)? == 0 {
        return Err(StoreError::StaleLease);
    }
    record_changes::apply(tx, commit.lease.org, &commit.changes).map_err(stale_changes)?;
    if !commit.audit.is_empty() {
        let entries = commit.audit.iter().map(|entry| audit::append(commit.lease.org, entry));
        tx.batch(&entries.collect::<Result<Vec<_>>>()?)?;
    }
    for wait in &commit.waits {
        events::start_wait(tx, commit.lease, wait)?;
    }
    for child in &commit.children {
        super::start(tx, commit.lease.org, child)?;
    }
    for task in &commit.ended_waits {
        children::cancel_of_task(tx, commit.lease, task)?;
    }
    if commit.cancel_children {
        children::cancel_all(tx, commit.lease)?;
    }
    if let Some(data) = &commit.ended {
        check_size("result", data)?;
        children::answer_parent(tx, commit.lease, data)?;
    }
    for notice in &commit.notices {
        notices::notify(tx, commit.lease.org, notice)?;
    }
    tx.finish(&final_statements(commit)?).map(drop)
}

fn final_statements(commit: &WorkflowCommit) -> Result<Vec<Statement>> {
    let mut statements = Vec::new();
    let key = || commit.lease.key();
    for StoredTask { task, result, checkpoint, record } in &commit.tasks {
        for text in [result, checkpoint, record].into_iter().flatten() {
            check_size("result", text)?;
        }
        let [org, workflow] = key();
        let texts = [result, checkpoint, record].map(|text| Value::from(text.clone()));
        let [result, checkpoint, record] = texts;
        statements.push(statement(
            &SAVE_TASK,
            [org, workflow, task.as_str().into(), result, checkpoint, record],
        ));
    }
    for (task, question) in &commit.consumed_answers {
        let [org, workflow] = key();
        let params = [org, workflow, task.as_str().into(), question.as_str().into()];
        statements.push(statement(&CONSUME_ANSWER, params));
    }
    for charges in &commit.charges {
        statements.push(charge_statement(charges)?);
    }
    for task in &commit.ended_waits {
        let [org, workflow] = key();
        statements.push(statement(&DELETE_WAIT, [org, workflow, task.as_str().into()]));
    }
    statements.extend(event_log::append(commit.lease.org, None, &commit.events)?);
    if commit.clear_waits {
        statements.push(statement(&DELETE_WAITS, key()));
    }
    match commit.lease_action {
        WorkflowLeaseAction::Keep => {}
        WorkflowLeaseAction::Release { seen_signals, recheck_in } => {
            let [org, workflow] = key();
            statements
                .push(statement(&RELEASE, [org, workflow, seen_signals.into(), recheck_in.into()]));
        }
        WorkflowLeaseAction::End => statements.push(statement(&END, key())),
    }
    Ok(statements)
}
