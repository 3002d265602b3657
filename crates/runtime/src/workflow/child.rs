//! A step that starts another workflow of the org and takes its result.
//!
//! The child is stored in the commit that makes the step wait, and its end answers the step
//! in the commit that ends the child. So it is started once and its result taken once,
//! whichever process dies. It is a workflow like any other, with a lease of its own.

use ostler_domain::id::{OrgId, WorkflowId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{SessionBudget, SpendingMode};
use ostler_domain::tool::Trust;
use ostler_domain::workflow::definition::MAX_DEPTH;
use ostler_domain::workflow::{ChildEnd, StepOutcome, WorkflowStatus, WorkflowStop};
use ostler_store::{
    MAX_WORKFLOW_BYTES, NewWorkflow, OrgStore, StoreError, WorkflowLease, WorkflowParent,
};
use serde_json::Value;

use super::instance::WorkflowInstance;
use super::job::StepJob;
use super::perform::StepResult;
use super::question::question_key;
use super::schedule::workflow_of;
use crate::assembly::Services;
use crate::assembly::credits::FundsShortage;
use crate::records::{decode, encode};

/// The name under which the end of a child is answered.
const CHILD_QUESTION: &str = "child";

/// Takes the end of the child of a step, or starts the child.
pub(super) async fn run(
    services: &Services,
    lease: WorkflowLease,
    job: &StepJob,
    name: &str,
    input: &Value,
) -> Result<StepResult, StoreError> {
    let (org, parent) = (lease.org(), lease.workflow());
    let store = services.deps.store.org(org);
    let question = question_key(&job.part, CHILD_QUESTION);
    if let Some((_, data)) = job.answers.iter().find(|(key, _)| *key == question) {
        return Ok(match decode::<ChildEnd>("end of a workflow", data) {
            Ok(end) => result_of(end, name),
            Err(error) => StepResult::failed(error.to_string(), false),
        });
    }
    let link = WorkflowParent {
        workflow: parent,
        task: job.task.to_string(),
        question,
        ancestors: job.ancestors.clone(),
        untrusted: job.trust == Trust::Untrusted,
    };
    if budget(services, org, parent, job).await?.spending_mode() == SpendingMode::Closed {
        let reason = FundsShortage::Session.explanation();
        return Ok(StepResult::failed(format!("`{name}` is not started: {reason}"), false));
    }
    Ok(match new_child(store, job, name, input).await? {
        Ok(child) => {
            let child = NewWorkflow { parent: Some(link), ..child };
            StepResult { child: Some(child), ..StepResult::new(StepOutcome::Suspended) }
        }
        Err(reason) => StepResult::failed(reason, false),
    })
}

/// Returns the budget of a workflow, of which it and all that start each other with it spend.
pub(super) async fn budget(
    services: &Services,
    org: OrgId,
    workflow: WorkflowId,
    job: &StepJob,
) -> Result<SessionBudget, StoreError> {
    let spent = if job.shares_budget {
        let all = services.deps.store.org(org).workflow_family_spent(workflow).await?;
        all.max(job.spent)
    } else {
        job.spent
    };
    let mut budget = services.org_views.current(org).await?.settings.session_budget;
    budget.record(Credits::new(spent));
    Ok(budget)
}

/// Returns the child to start, or why it cannot be started.
async fn new_child(
    store: OrgStore<'_>,
    job: &StepJob,
    name: &str,
    input: &Value,
) -> Result<Result<NewWorkflow, String>, StoreError> {
    let above = &job.ancestors;
    if above.iter().any(|one| one == name) {
        let circle = above.join(", ");
        return Ok(Err(format!("`{name}` is started by itself: {circle}, {name}")));
    }
    if above.len() >= MAX_DEPTH {
        return Ok(Err(format!("workflows start each other at most {MAX_DEPTH} deep")));
    }
    let Some(definition) = store.workflow_definition(name).await? else {
        return Ok(Err(format!("there is no workflow `{name}`")));
    };
    let names = input.as_object().into_iter().flat_map(|fields| fields.keys());
    Ok(match definition.check_input(names.map(String::as_str)) {
        Ok(()) => Ok(workflow_of(&definition, input)),
        Err(mismatch) => Err(mismatch.to_string()),
    })
}

fn result_of(end: ChildEnd, name: &str) -> StepResult {
    let result = match (end.result, end.reason) {
        (Some(result), None) => StepResult::done(result, end.trust),
        (_, reason) => {
            let reason = reason.unwrap_or_else(|| "it has no result".to_owned());
            StepResult::failed(format!("the workflow {name} failed: {reason}"), true)
        }
    };
    StepResult { spent: end.spent, ..result }
}

/// Returns what the parent of a workflow that has ended learns of it; `None` while it runs.
pub(super) fn child_end(instance: &WorkflowInstance, spent: u64) -> Option<String> {
    let status = instance.progress.status();
    if !status.is_over() || !instance.has_parent {
        return None;
    }
    let reason = match instance.progress.stop() {
        Some(WorkflowStop::Failed { step, reason }) => Some(format!("{step}: {reason}")),
        Some(WorkflowStop::Cancelled) => Some("it was cancelled".to_owned()),
        None => None,
    };
    let view = instance.data.view(&instance.definition);
    let result = (status == WorkflowStatus::Done).then(|| view.outcome());
    let trust = instance.data.trust();
    let end = encode(&ChildEnd { result, reason, trust, spent });
    if end.len() <= MAX_WORKFLOW_BYTES {
        return Some(end);
    }
    let reason = format!("its result is longer than {MAX_WORKFLOW_BYTES} bytes");
    Some(encode(&ChildEnd::failed(reason, trust, spent)))
}
