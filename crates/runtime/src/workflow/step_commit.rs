//! The changes committed with the result of a task.

use std::time::Duration;

use ostler_domain::id::NoticeId;
use ostler_domain::money::Credits;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::{Task, WorkflowStatus, WorkflowStop};
use ostler_store::{
    NewAuditEntry, NewEvent, NewNotice, NewWorkflow, RecordChange, StoredTask, TurnCharges,
    WorkflowCommit, WorkflowLease, WorkflowLeaseAction, WorkflowWait,
};
use serde_json::json;

use super::checkpoint::TaskRecord;
use super::child::child_end;
use super::control::AppliedControls;
use super::instance::WorkflowInstance;
use super::perform::StepResult;
use super::progress_events::progress_events;
use super::question::{OpenQuestion, QuestionBody};
use crate::ids::fresh;
use crate::records::encode;

/// The changes committed with the result of a task.
#[derive(Debug, Default)]
pub(super) struct StepCommit {
    pub(super) changes: Vec<RecordChange>,
    /// The audit entries of the changes.
    pub(super) audit: Vec<NewAuditEntry>,
    /// Notices about the changes.
    pub(super) notices: Vec<NewNotice>,
    tasks: Vec<StoredTask>,
    consumed_answers: Vec<(String, String)>,
    ended_waits: Vec<String>,
    /// Events of the org's log.
    events: Vec<NewEvent>,
    waits: Vec<WorkflowWait>,
    /// Questions to people, with the task that asks.
    questions: Vec<(String, OpenQuestion)>,
    charges: Option<TurnCharges>,
    /// Workflows that steps start.
    children: Vec<NewWorkflow>,
    spent: u64,
}

impl StepCommit {
    pub(super) const fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.consumed_answers.is_empty()
    }

    pub(super) const fn adds_waits(&self) -> bool {
        !self.waits.is_empty()
    }

    /// Adds the result of a task and updates the instance.
    pub(super) fn add_result(
        &mut self,
        instance: &mut WorkflowInstance,
        task: &Task,
        result: &StepResult,
        now: Timestamp,
    ) {
        let StepResult {
            outcome,
            output,
            checkpoint,
            record,
            consumed_answers,
            charges,
            wait,
            child,
            spent,
            ..
        } = result;
        self.children.extend(child.clone());
        self.spent += spent;
        let name = task.to_string();
        let trust = output.as_ref().map(|output| output.trust);
        let record = record.clone().or_else(|| {
            let (decisions, charges) = (Vec::new(), Vec::new());
            trust.map(|trust| TaskRecord { at: now, trust, decisions, charges })
        });
        self.tasks.push(StoredTask {
            task: name.clone(),
            result: output.as_ref().map(|output| output.text.clone()),
            checkpoint: checkpoint.as_ref().map(encode),
            record: record.as_ref().map(encode),
        });
        let questions = checkpoint.iter().flat_map(|checkpoint| &checkpoint.questions);
        self.questions.extend(questions.map(|question| (name.clone(), question.clone())));
        self.consumed_answers
            .extend(consumed_answers.iter().map(|question| (name.clone(), question.clone())));
        if let Some((event, question)) = wait {
            let (event, question) = (event.clone(), question.clone());
            self.waits.push(WorkflowWait { task: name.clone(), event, question });
        }
        if let Some(charges) = charges {
            let cost: Credits = charges.charges.iter().map(|charge| charge.amount).sum();
            self.spent += cost.get();
            self.charges = Some(charges.clone());
        }
        instance
            .signals
            .answers
            .retain(|answer| answer.task != name || !consumed_answers.contains(&answer.question));
        match checkpoint {
            Some(checkpoint) => instance.checkpoints.insert(task.clone(), checkpoint.clone()),
            None => instance.checkpoints.remove(task),
        };
        if let Some(output) = output {
            instance.data.results.insert(task.clone(), output.clone());
        }
        let view = instance.data.view(&instance.definition);
        let was_running =
            instance.progress.complete(&instance.definition, &view, task, outcome.clone(), now);
        debug_assert!(was_running, "{task} was not running");
    }

    /// Adds the controls of people, which were applied to the progress.
    pub(super) fn add_controls(&mut self, applied: AppliedControls) {
        self.consumed_answers.extend(applied.consumed);
        self.ended_waits.extend(applied.ended_waits);
    }

    /// Adds the events of a change of the progress, and the notice if the workflow failed.
    pub(super) fn add_progress(&mut self, lease: WorkflowLease, instance: &WorkflowInstance) {
        let (before, after) = (&instance.committed, &instance.progress);
        let id = lease.workflow();
        self.events.extend(progress_events(id, &instance.definition, before, after));
        if after.status() == WorkflowStatus::Failed && before.status() != WorkflowStatus::Failed {
            self.notices.push(failed_notice(lease, instance));
        }
    }

    /// Returns the cost in credits.
    pub(super) const fn spent(&self) -> u64 {
        self.spent
    }

    /// Converts the changes for the store.
    pub(super) fn into_workflow_commit(
        self,
        lease: WorkflowLease,
        instance: &WorkflowInstance,
        lease_ttl: Duration,
        lease_action: WorkflowLeaseAction,
    ) -> WorkflowCommit {
        let notices = self.questions.iter();
        let notices =
            notices.map(|(task, question)| waiting_notice(lease, instance, task, question));
        WorkflowCommit {
            notices: notices.chain(self.notices).collect(),
            lease,
            status: instance.progress.status().name().to_owned(),
            state: encode(&instance.progress),
            spent: self.spent,
            tasks: self.tasks,
            consumed_answers: self.consumed_answers,
            ended_waits: self.ended_waits,
            events: self.events,
            waits: self.waits,
            children: self.children,
            cancel_children: instance.progress.stop().is_some(),
            ended: child_end(instance, instance.spent + self.spent),
            clear_waits: instance.progress.stop().is_some(),
            changes: self.changes,
            audit: self.audit,
            charges: self.charges.into_iter().collect(),
            lease_ttl,
            lease_action,
        }
    }
}

/// Returns the notice to the owner that a workflow failed. One that is retried and fails again
/// is another event.
fn failed_notice(lease: WorkflowLease, instance: &WorkflowInstance) -> NewNotice {
    let (id, workflow) = (fresh(NoticeId::from_u128), lease.workflow());
    let (step, reason) = match instance.progress.stop() {
        Some(WorkflowStop::Failed { step, reason }) => (Some(step), Some(reason)),
        _ => (None, None),
    };
    let name = instance.definition.name();
    let data = json!({"workflow": workflow, "name": name, "step": step, "reason": reason});
    NewNotice {
        id,
        kind: NoticeKind::WorkflowFailed,
        recipient: NoticeRecipient::Owner,
        subject: format!("{workflow} failed {id}"),
        data: data.to_string(),
    }
}

/// Returns the notice to the owner that a workflow waits for an answer. The store keeps one
/// for each question.
fn waiting_notice(
    lease: WorkflowLease,
    instance: &WorkflowInstance,
    task: &str,
    question: &OpenQuestion,
) -> NewNotice {
    let workflow = lease.workflow();
    let text = match &question.body {
        QuestionBody::Approval { tool, .. } => format!("may {task} call {tool}?"),
        QuestionBody::Question { question, .. } => question.clone(),
        QuestionBody::Plan { title, .. } => {
            format!("should {task} follow the plan {}?", title.as_deref().unwrap_or(""))
        }
        QuestionBody::Unknown { tool, .. } => format!("what was the outcome of {tool}?"),
    };
    let data = json!({"workflow": workflow, "name": instance.definition.name(), "task": task,
        "question": text});
    NewNotice {
        id: fresh(NoticeId::from_u128),
        kind: NoticeKind::WorkflowWaiting,
        recipient: NoticeRecipient::Owner,
        subject: format!("{workflow} {task} {}", question.key),
        data: data.to_string(),
    }
}
