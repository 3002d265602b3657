//! Routes for what waits for people on the bus: messages to human agents, and plans. Both are
//! named by the id of their message or its end.

use axum::Json;
use ostler_api::page::Page;
use ostler_api::queue_agent::{
    AnsweredWork, RejectPlanRequest, WaitingPlan, WorkAnswerRequest, WorkItem,
};
use ostler_domain::id::EnvelopeId;
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use ostler_domain::queue_agent::plan::PlanAnswer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::wire::{self, parse_name};
use crate::body::{JsonBody, QueryParams};
use crate::error::Result;
use crate::orgs::{OrgRequest, PathId, find_id};
use crate::route::{Route, get, post};

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/work-items",
            "listWorkItems",
            "List the messages that wait for human agents, oldest first",
            list,
        ),
        post(
            Operate,
            "/work-items/{message}/answer",
            "answerWorkItem",
            "Answer a message in the name of its human agent; the first answer counts",
            answer,
        )
        .example(json!({"text": "Yes, ship it."})),
        get(
            View,
            "/queue-plans",
            "listQueuePlans",
            "List what agents want to do and ask approval for, oldest first",
            plans,
        ),
        post(
            Operate,
            "/queue-plans/{message}/approve",
            "approveQueuePlan",
            "Approve a plan; the agent carries it out",
            approve,
        ),
        post(
            Operate,
            "/queue-plans/{message}/reject",
            "rejectQueuePlan",
            "Reject a plan; the sender of the request is told the reason",
            reject,
        )
        .example(json!({"reason": "not on a Friday"})),
    ]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WorkItemsQuery {
    /// Only the messages to this agent.
    agent: Option<String>,
}

async fn list(
    request: OrgRequest,
    QueryParams(query): QueryParams<WorkItemsQuery>,
) -> Result<Json<Page<WorkItem>>> {
    let agent = query.agent.as_deref().map(parse_name).transpose()?;
    let items = request.hide_foreign_org(request.operations().work_items(agent.as_ref()).await)?;
    Ok(Json(Page { items: items.into_iter().map(wire::work_item).collect(), next: None }))
}

async fn answer(
    request: OrgRequest,
    PathId(message): PathId,
    JsonBody(body): JsonBody<WorkAnswerRequest>,
) -> Result<Json<AnsweredWork>> {
    let operations = request.operations();
    let known = async {
        let items = request.hide_foreign_org(operations.work_items(None).await)?;
        Ok(items.iter().map(|item| item.message.message.id).collect())
    };
    let id: EnvelopeId = find_id(&message, "message on a work list", known).await?;
    let agents = request.connected_agents()?;
    let agent = body.agent.as_deref().map(parse_name).transpose()?;
    let answered = operations.answer_work_item(&agents, id, agent.as_ref(), &body.text).await;
    let (item, delivery) = request.hide_foreign_org(answered)?;
    Ok(Json(AnsweredWork { item: wire::work_item(item), delivery: wire::delivery(delivery) }))
}

async fn plans(request: OrgRequest) -> Result<Json<Page<WaitingPlan>>> {
    let found = request.hide_foreign_org(request.operations().waiting_plans().await)?;
    Ok(Json(Page { items: found.into_iter().map(wire::plan).collect(), next: None }))
}

async fn approve(request: OrgRequest, PathId(message): PathId) -> Result<Json<WaitingPlan>> {
    decide(&request, &message, PlanAnswer::Approve).await
}

async fn reject(
    request: OrgRequest,
    PathId(message): PathId,
    JsonBody(RejectPlanRequest { reason }): JsonBody<RejectPlanRequest>,
) -> Result<Json<WaitingPlan>> {
    decide(&request, &message, PlanAnswer::Reject { reason }).await
}

async fn decide(
    request: &OrgRequest,
    message: &str,
    answer: PlanAnswer,
) -> Result<Json<WaitingPlan>> {
    let operations = request.operations();
    let known = async {
        let plans = request.hide_foreign_org(operations.waiting_plans().await)?;
        Ok(plans.iter().map(|plan| plan.key.message).collect())
    };
    let id: EnvelopeId = find_id(message, "plan", known).await?;
    let agents = request.connected_agents()?;
    let plan = operations.answer_plan(&agents, id, answer).await;
    Ok(Json(wire::plan(request.hide_foreign_org(plan)?)))
}
