//! Routes for workflows.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::page::{Page, PageQuery};
use ostler_api::problem::ProblemCode;
use ostler_api::workflow::{
    ChangeStepRequest, ChildWorkflow, PublishEventRequest, PublishedEvent, RetriedWorkflow,
    StartWorkflowRequest, StartedWorkflow, StepChange, TaskAnswer, WaitingWorkflowCall, Workflow,
    WorkflowDetail, WorkflowGraph, WorkflowTask,
};
use ostler_domain::id::WorkflowId;
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use ostler_domain::workflow::{StepControl, StepName, Task, WorkflowDefinition};
use ostler_runtime::operations::GraphFormat;
use ostler_runtime::workflow::view;
use ostler_store::PublishOutcome;
use serde_json::{Value, json};

use super::{OrgRequest, PathId};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::{ApiError, Result};
use crate::route::{Route, get, post};

pub(crate) fn routes() -> Vec<Route> {
    let definition = json!({"name": "ask", "step": [{"id": "size", "ask": "How large?"}]});
    vec![
        get(View, "/workflows", "listWorkflows", "List workflows, newest first", list),
        post(Operate, "/workflows", "startWorkflow", "Start a workflow", start)
            .example(json!({"definition": definition, "input": {}})),
        get(
            View,
            "/workflows/{workflow}",
            "getWorkflow",
            "Show a workflow with its tasks and open questions",
            show,
        ),
        post(
            Operate,
            "/workflows/{workflow}/answers",
            "answerWorkflow",
            "Answer, approve or reject what a task waits with",
            answer,
        )
        .example(json!({"type": "text", "task": "size", "text": "Large"})),
        post(
            Operate,
            "/workflows/{workflow}/cancel",
            "cancelWorkflow",
            "Cancel a workflow; finished steps are undone as far as they define how",
            cancel,
        ),
        post(
            Operate,
            "/workflows/{workflow}/steps",
            "changeWorkflowStep",
            "Skip, pause or continue a step of a workflow",
            change_step,
        )
        .example(json!({"step": "size", "change": "pause"})),
        post(
            Operate,
            "/workflows/{workflow}/retry",
            "retryWorkflow",
            "Run a failed workflow again, from the steps that failed, were stopped or undone",
            retry,
        ),
        get(
            View,
            "/workflows/{workflow}/graph",
            "getWorkflowGraph",
            "Draw a workflow, with the states of its steps",
            graph,
        ),
        get(
            View,
            "/workflow-calls",
            "listWorkflowCalls",
            "List the calls of workflows that wait for an approval",
            calls,
        ),
        post(
            Operate,
            "/workflow-events",
            "publishWorkflowEvent",
            "Publish an event to workflows that wait for it",
            publish,
        )
        .example(json!({"name": "order_paid", "payload": {"order": "1234"}})),
    ]
}

async fn list(
    request: OrgRequest,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Page<Workflow>>> {
    let limit = page.page_size();
    let before: Option<WorkflowId> = body::parse_cursor(page.cursor.as_deref())?;
    let found = request.hide_foreign_org(request.operations().workflows(before, limit).await)?;
    let found = found.into_iter().map(summary).collect();
    Ok(Json(Page::from_items(found, limit, |item: &Workflow| item.id.to_string())))
}

async fn start(
    request: OrgRequest,
    JsonBody(body): JsonBody<StartWorkflowRequest>,
) -> Result<(StatusCode, Json<StartedWorkflow>)> {
    let StartWorkflowRequest { definition, workflow, input } = body;
    let input = input.unwrap_or_else(|| json!({}));
    let invalid = |why: String| ApiError::new(ProblemCode::Invalid, why);
    let started = match (definition, workflow) {
        (Some(definition), None) => {
            let definition: WorkflowDefinition =
                serde_json::from_value(definition).map_err(|error| invalid(error.to_string()))?;
            request.operations().start_workflow(&definition, &input).await
        }
        (None, Some(name)) => request.operations().start_stored_workflow(&name, &input).await,
        _ => {
            let why = "name either the `definition` or the `workflow` of the organization";
            return Err(invalid(why.to_owned()));
        }
    };
    let id = request.hide_foreign_org(started)?;
    Ok((StatusCode::CREATED, Json(StartedWorkflow { id })))
}

async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Json<WorkflowDetail>> {
    let id = request.workflow_id(&id).await?;
    let found = request.hide_foreign_org(request.operations().workflow(id).await)?;
    let view::WorkflowDetail { summary: stored, tasks } = found;
    let tasks = tasks.into_iter().map(|one| WorkflowTask {
        task: one.task.to_string(),
        state: one.state.to_owned(),
        reason: one.why,
        result: one.result,
        questions: one.questions.iter().map(to_json).collect(),
        children: one.children.into_iter().map(child).collect(),
        record: one.record.as_ref().map(to_json),
        finished_at: one.record.as_ref().map(|record| record.at),
    });
    Ok(Json(WorkflowDetail { workflow: summary(stored), tasks: tasks.collect() }))
}

async fn answer(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(answer): JsonBody<TaskAnswer>,
) -> Result<StatusCode> {
    let id = request.workflow_id(&id).await?;
    let operations = request.operations();
    let answered = match answer {
        TaskAnswer::Text { task, text } => {
            operations.answer_task(id, &parse_task(&task)?, &text).await
        }
        TaskAnswer::Approve { task, arguments } => {
            operations.approve_task(id, &parse_task(&task)?, arguments).await
        }
        TaskAnswer::Reject { task, reason } => {
            operations.reject_task(id, &parse_task(&task)?, &reason).await
        }
    };
    request.hide_foreign_org(answered)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn cancel(request: OrgRequest, PathId(id): PathId) -> Result<StatusCode> {
    let id = request.workflow_id(&id).await?;
    request.hide_foreign_org(request.operations().cancel_workflow(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn change_step(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(ChangeStepRequest { step, change }): JsonBody<ChangeStepRequest>,
) -> Result<StatusCode> {
    let id = request.workflow_id(&id).await?;
    let step: StepName =
        step.parse().map_err(|error| ApiError::new(ProblemCode::Invalid, format!("{error}")))?;
    let control = match change {
        StepChange::Skip => StepControl::Skip,
        StepChange::Pause => StepControl::Pause,
        StepChange::Continue => StepControl::Continue,
    };
    let changed = request.operations().control_step(id, &step, control).await;
    request.hide_foreign_org(changed)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn retry(request: OrgRequest, PathId(id): PathId) -> Result<Json<RetriedWorkflow>> {
    let id = request.workflow_id(&id).await?;
    let steps = request.hide_foreign_org(request.operations().retry_workflow(id).await)?;
    Ok(Json(RetriedWorkflow { steps: steps.iter().map(ToString::to_string).collect() }))
}

async fn graph(request: OrgRequest, PathId(id): PathId) -> Result<Json<WorkflowGraph>> {
    let id = request.workflow_id(&id).await?;
    let operations = request.operations();
    let draw = async |format| request.hide_foreign_org(operations.workflow_graph(id, format).await);
    let (mermaid, svg) = (draw(GraphFormat::Mermaid).await?, draw(GraphFormat::Svg).await?);
    Ok(Json(WorkflowGraph { mermaid, svg }))
}

async fn calls(request: OrgRequest) -> Result<Json<Vec<WaitingWorkflowCall>>> {
    let found = request.operations().workflow_calls(super::SEARCH_LIMIT).await;
    let calls = request.hide_foreign_org(found)?.into_iter().map(|call| WaitingWorkflowCall {
        workflow: call.workflow,
        name: call.name,
        task: call.task.to_string(),
        tool: call.tool,
        arguments: call.arguments,
        why: call.why,
    });
    Ok(Json(calls.collect()))
}

async fn publish(
    request: OrgRequest,
    JsonBody(body): JsonBody<PublishEventRequest>,
) -> Result<Json<PublishedEvent>> {
    let PublishEventRequest { id, name, payload } = body;
    let name = serde_json::from_value(Value::String(name))
        .map_err(|error| ApiError::new(ProblemCode::Invalid, error.to_string()))?;
    let payload = payload.unwrap_or(Value::Null);
    let published = request.operations().publish_event(id, name, &payload).await;
    Ok(Json(match request.hide_foreign_org(published)? {
        PublishOutcome::Delivered { workflow, task } => {
            PublishedEvent::Reached { workflow, task: task.clone() }
        }
        PublishOutcome::Stored => PublishedEvent::Kept,
        PublishOutcome::Duplicate => PublishedEvent::Repeat,
    }))
}

fn parse_task(text: &str) -> Result<Task> {
    text.parse().map_err(|error| ApiError::new(ProblemCode::Invalid, format!("{error}")))
}

impl OrgRequest {
    /// Returns the workflow that a path names.
    async fn workflow_id(&self, text: &str) -> Result<WorkflowId> {
        super::find_id(text, "workflow", async {
            let recent = self.operations().workflows(None, super::SEARCH_LIMIT).await;
            Ok(self.hide_foreign_org(recent)?.iter().map(|one| one.id).collect())
        })
        .await
    }
}

fn summary(stored: view::WorkflowSummary) -> Workflow {
    Workflow {
        id: stored.id,
        name: stored.name,
        status: stored.status,
        finished_steps: stored.over,
        steps: stored.steps,
        waiting_tasks: stored.waits.iter().map(ToString::to_string).collect(),
        reason: stored.why,
        parent: stored.parent.as_ref().map(|(parent, _)| *parent),
        parent_task: stored.parent.map(|(_, task)| task),
        due: stored.due,
        leased_until: stored.leased_until,
        spent: stored.spent,
        continues_at: stored.continues_at,
        created_at: stored.created_at,
        updated_at: stored.updated_at,
    }
}

fn child(started: view::ChildWorkflow) -> ChildWorkflow {
    let view::ChildWorkflow { id, name, status } = started;
    ChildWorkflow { id, name, status }
}

fn to_json<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
