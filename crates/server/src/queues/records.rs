//! Routes for the records of agents on queues.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::page::Page;
use ostler_api::queue_agent::{
    QueueAgent, QueueAgentDetail, QueueAgentType, RemovedQueueAgent, StartQueueAgentRequest,
};
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::selection::AgentSkill;
use ostler_runtime::agents::AgentRuntime;
use ostler_runtime::operations::{self, NewQueueAgent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::wire::{self, parse_name};
use crate::body::{JsonBody, QueryParams};
use crate::error::Result;
use crate::orgs::{OrgRequest, PathId};
use crate::route::{Route, delete, get, post};

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(View, "/queue-agents", "listQueueAgents", "List the agents on queues", list),
        get(
            View,
            "/queue-agents/{agent}",
            "getQueueAgent",
            "Show an agent on queues with its teams and work",
            show,
        ),
        post(
            Configure,
            "/queue-agents",
            "startQueueAgent",
            "Start an agent on queues, and register it if it is new",
            start,
        )
        .example(json!({"name": "ada", "agent_type": "human", "capabilities": ["review"]})),
        post(
            Configure,
            "/queue-agents/{agent}/stop",
            "stopQueueAgent",
            "Stop an agent on queues; it takes no messages until it is started again",
            stop,
        ),
        delete(
            Configure,
            "/queue-agents/{agent}",
            "removeQueueAgent",
            "Remove an agent from the queues; it must be in no team",
            remove,
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct QueueAgentsQuery {
    /// A capability: available agents come first, then those with less to do.
    can: Option<String>,
}

async fn list(
    request: OrgRequest,
    QueryParams(query): QueryParams<QueueAgentsQuery>,
) -> Result<Json<Page<QueueAgent>>> {
    let skill = query.can.as_deref().map(AgentSkill::from);
    let found = request.operations().queue_agents(skill.as_ref()).await;
    let now = request.server().deps.clock.now();
    let found = request.hide_foreign_org(found)?.into_iter();
    Ok(Json(Page { items: found.map(|record| wire::agent(record, now)).collect(), next: None }))
}

async fn show(request: OrgRequest, PathId(name): PathId) -> Result<Json<QueueAgentDetail>> {
    let agents = request.agents();
    let found = request.operations().queue_agent(agents.as_ref(), &parse_name(&name)?).await;
    let now = request.server().deps.clock.now();
    Ok(Json(wire::detail(request.hide_foreign_org(found)?, now)))
}

async fn start(
    request: OrgRequest,
    JsonBody(body): JsonBody<StartQueueAgentRequest>,
) -> Result<(StatusCode, Json<QueueAgent>)> {
    let StartQueueAgentRequest { name, agent_type, capabilities } = body;
    let new = NewQueueAgent { name, agent_type: agent_type.map(parse_type), capabilities };
    let agents = request.agents();
    let started = request.operations().start_queue_agent(agents.as_ref(), new).await;
    let now = request.server().deps.clock.now();
    Ok((StatusCode::CREATED, Json(wire::agent(request.hide_foreign_org(started)?, now))))
}

pub(super) const fn parse_type(agent_type: QueueAgentType) -> operations::QueueAgentType {
    match agent_type {
        QueueAgentType::Echo => operations::QueueAgentType::Echo,
        QueueAgentType::Human => operations::QueueAgentType::Human,
    }
}

async fn stop(request: OrgRequest, PathId(name): PathId) -> Result<StatusCode> {
    let (name, agents) = registered(&request, &name).await?;
    request.hide_foreign_org(request.operations().stop_queue_agent(&agents, &name).await)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove(request: OrgRequest, PathId(name): PathId) -> Result<Json<RemovedQueueAgent>> {
    let (name, agents) = registered(&request, &name).await?;
    let removed = request.operations().remove_queue_agent(&agents, &name).await;
    Ok(Json(RemovedQueueAgent { dead_letters: request.hide_foreign_org(removed)? }))
}

/// Returns the name of an agent that is registered, and the agents on the bus.
async fn registered(request: &OrgRequest, name: &str) -> Result<(AgentName, AgentRuntime)> {
    let name = parse_name(name)?;
    request.hide_foreign_org(request.operations().queue_agent(None, &name).await)?;
    Ok((name, request.connected_agents()?))
}
