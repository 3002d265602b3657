//! Workflows operated: steps skipped, paused and continued, failed workflows run again,
//! pictures of workflows, and the calls that wait for an approval.

use ostler_domain::id::WorkflowId;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::workflow::graph::{mermaid, svg};
use ostler_domain::workflow::{StepControl, StepName, Task, WorkflowDefinition, WorkflowProgress};
use ostler_store::{ReopenedWorkflow, StoreError};
use serde::Serialize;
use serde_json::{Value, json};

use super::error::WorkflowRefused;
use super::{OperationError, OrgOperations, Result};
use crate::records::{decode, encode};
use crate::workflow::QuestionBody;
use crate::workflow::control::control_signal;
use crate::workflow::view::WorkflowDetail;

/// The form of a picture of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    Mermaid,
    Svg,
}

/// A call of a workflow's step that waits for an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowCall {
    pub workflow: WorkflowId,
    pub name: String,
    pub task: Task,
    pub tool: String,
    pub arguments: Value,
    pub why: String,
}

impl OrgOperations<'_> {
    /// Skips, pauses or continues a step. The worker that runs the workflow does it before
    /// it starts another step.
    pub async fn control_step(
        &self,
        id: WorkflowId,
        step: &StepName,
        control: StepControl,
    ) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let (stored, _) = store.workflow(id).await?;
        let mut progress: WorkflowProgress = decode("workflow", &stored.state)?;
        progress.control(step, control).map_err(WorkflowRefused::from)?;
        let action = format!("{}_step", control.name());
        let audit = self.audit_entry(&action, &format!("{id}/{step}"), &json!({}));
        let key = audit.id.to_string();
        let signal = control_signal(step, control, &key);
        match store.audited(audit).answer_workflow(id, signal).await {
            Err(StoreError::NotFound(_)) => Err(WorkflowRefused::AlreadyEnded.into()),
            result => Ok(result?),
        }
    }

    /// Runs a failed workflow again, from the steps that failed, were stopped or undone.
    /// Returns these.
    pub async fn retry_workflow(&self, id: WorkflowId) -> Result<Vec<StepName>> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let (stored, _) = store.workflow(id).await?;
        let mut progress: WorkflowProgress = decode("workflow", &stored.state)?;
        let definition: WorkflowDefinition = decode("workflow", &stored.definition)?;
        if let Some((parent, _)) = stored.parent {
            return Err(WorkflowRefused::IsChild(parent).into());
        }
        let steps = progress.retry(&definition).map_err(WorkflowRefused::from)?;
        let audit = self.audit_entry("retry_workflow", &id, &json!({"steps": steps}));
        let reopened = ReopenedWorkflow {
            id,
            state_before: stored.state,
            state: encode(&progress),
            steps: steps.iter().map(ToString::to_string).collect(),
        };
        match store.audited(audit).reopen_workflow(reopened).await {
            Err(StoreError::Conflict(_)) => Err(WorkflowRefused::ChangedSince.into()),
            result => Ok(result.map(|()| steps)?),
        }
    }

    /// Returns a picture of a workflow, with the states of its steps.
    pub async fn workflow_graph(&self, id: WorkflowId, format: GraphFormat) -> Result<String> {
        let (stored, _) = self.authorize(OrgPermission::View).await?.workflow(id).await?;
        let progress: WorkflowProgress = decode("workflow", &stored.state)?;
        let definition: WorkflowDefinition = decode("workflow", &stored.definition)?;
        Ok(match format {
            GraphFormat::Mermaid => mermaid(&definition, Some(&progress)),
            GraphFormat::Svg => svg(&definition, Some(&progress)),
        })
    }

    /// Returns the calls of workflows that wait for an approval, of the newest workflows
    /// that have not ended.
    pub async fn workflow_calls(&self, limit: u32) -> Result<Vec<WorkflowCall>> {
        let store = self.authorize(OrgPermission::View).await?;
        let mut calls = Vec::new();
        for open in store.open_workflows(limit).await? {
            let (stored, tasks) = match store.workflow(open.id).await {
                Err(StoreError::NotFound(_)) => continue,
                found => found?,
            };
            let detail = WorkflowDetail::of(&stored, tasks).map_err(OperationError::from)?;
            for task in detail.tasks {
                let questions = task.questions.into_iter().map(|question| question.body);
                calls.extend(questions.filter_map(|body| match body {
                    QuestionBody::Approval { tool, arguments, why, .. } => Some(WorkflowCall {
                        workflow: open.id,
                        name: open.name.clone(),
                        task: task.task.clone(),
                        tool,
                        arguments,
                        why,
                    }),
                    _ => None,
                }));
            }
        }
        Ok(calls)
    }
}
