//! Routes for work that is delegated to agents on queues. A delegation is named by its id or its
//! reference code.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::page::Page;
use ostler_api::queue_agent::{
    ChangedDelegation, CreatedDelegation, DelegationChange, DelegationDetail, DelegationState,
    NewDelegationRequest,
};
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use ostler_domain::queue_agent::delegation::Delegation;
use ostler_runtime::agents::DelegatedWork;
use ostler_runtime::operations::NewDelegation;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::wire::parse_name;
use crate::body::{JsonBody, QueryParams};
use crate::error::Result;
use crate::orgs::{OrgRequest, PathId};
use crate::route::{Route, get, post};

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(View, "/delegations", "listDelegations", "List delegated work", list),
        get(
            View,
            "/delegations/{delegation}",
            "getDelegation",
            "Show a delegation, what it waits for and what it blocks",
            show,
        ),
        post(Operate, "/delegations", "createDelegation", "Give work to an agent", create)
            .example(json!({"by": "boss", "to": "legal", "description": "Review the contract"})),
        post(
            Operate,
            "/delegations/{delegation}/status",
            "changeDelegationStatus",
            "Set the status of a delegation",
            change,
        )
        .example(json!({"status": "complete"})),
    ]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct DelegationsQuery {
    /// The agent that has the work.
    agent: Option<String>,
    #[serde(default)]
    state: DelegationState,
}

async fn list(
    request: OrgRequest,
    QueryParams(query): QueryParams<DelegationsQuery>,
) -> Result<Json<Page<Delegation>>> {
    let now = request.server().deps.clock.now();
    let which = match (&query.agent, query.state) {
        (Some(agent), _) => DelegatedWork::Of(parse_name(agent)?),
        (None, DelegationState::All) => DelegatedWork::All,
        (None, DelegationState::Overdue) => DelegatedWork::OverdueAt(now),
        (None, DelegationState::Blocked) => DelegatedWork::Blocked,
        (None, DelegationState::Ready) => DelegatedWork::Ready,
    };
    let items = request.hide_foreign_org(request.operations().delegations(which).await)?;
    Ok(Json(Page { items, next: None }))
}

async fn show(request: OrgRequest, PathId(name): PathId) -> Result<Json<DelegationDetail>> {
    let found = request.hide_foreign_org(request.operations().delegation(&name).await)?;
    let (work, waits_for, blocks) = (found.work, found.waits_for, found.blocks);
    Ok(Json(DelegationDetail { work, waits_for, blocks }))
}

async fn create(
    request: OrgRequest,
    JsonBody(body): JsonBody<NewDelegationRequest>,
) -> Result<(StatusCode, Json<CreatedDelegation>)> {
    let (agents, operations) = (request.connected_agents()?, request.operations());
    let blocked_by = request.hide_foreign_org(operations.delegation_ids(&body.after).await)?;
    let NewDelegationRequest { by, to, description, due, .. } = body;
    let new = NewDelegation { by, to, description, due, blocked_by };
    let created = operations.delegate(&agents, new).await;
    let (work, sent) = request.hide_foreign_org(created)?;
    Ok((StatusCode::CREATED, Json(CreatedDelegation { work, sent })))
}

async fn change(
    request: OrgRequest,
    PathId(name): PathId,
    JsonBody(body): JsonBody<DelegationChange>,
) -> Result<Json<ChangedDelegation>> {
    let operations = request.operations();
    let id = request.hide_foreign_org(operations.find_delegation(&name).await)?.id;
    let agents = request.connected_agents()?;
    let changed = operations.update_delegation(&agents, id, body.status).await;
    let ready = request.hide_foreign_org(changed)?;
    let work = operations.find_delegation(&id.to_string()).await;
    Ok(Json(ChangedDelegation { work: request.hide_foreign_org(work)?, ready }))
}
