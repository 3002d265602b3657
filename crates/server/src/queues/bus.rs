//! Routes for the queues of the message bus, and for its dead letters.

use axum::Json;
use ostler_api::page::{MAX_LIMIT, Page};
use ostler_api::queue_agent::{BusDeadLetter, BusStatus, ReplayBusRequest, ReplayedLetters};
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::wire;
use crate::body::{JsonBody, QueryParams};
use crate::error::Result;
use crate::orgs::OrgRequest;
use crate::route::{Route, get, post};

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/bus",
            "getBusStatus",
            "Show the queues of the organization, what waits in them, and the circuit breakers of \
             the agents in the server's process",
            status,
        ),
        get(
            View,
            "/bus-dead-letters",
            "listBusDeadLetters",
            "List messages to agents that could not be handled, with the reason",
            dead_letters,
        ),
        post(
            Operate,
            "/bus-dead-letters/replay",
            "replayBusDeadLetters",
            "Put dead letters back into their queues: all, those of a queue, or one",
            replay,
        )
        .example(json!({"queue": "agent.legal"})),
    ]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct BusDeadLettersQuery {
    /// Only those of this queue.
    queue: Option<String>,
    limit: Option<u32>,
}

async fn status(request: OrgRequest) -> Result<Json<BusStatus>> {
    let agents = request.connected_agents()?;
    let is_shared = request.server().deps.queues.is_shared;
    let found = request.operations().bus_status(&agents, is_shared).await;
    Ok(Json(wire::status(request.hide_foreign_org(found)?)))
}

async fn dead_letters(
    request: OrgRequest,
    QueryParams(query): QueryParams<BusDeadLettersQuery>,
) -> Result<Json<Page<BusDeadLetter>>> {
    let agents = request.connected_agents()?;
    let limit = query.limit.unwrap_or(MAX_LIMIT).clamp(1, MAX_LIMIT) as usize;
    let queue = query.queue.as_deref();
    let found = request.operations().bus_dead_letters(&agents, queue, limit).await;
    let found = request.hide_foreign_org(found)?;
    Ok(Json(Page { items: found.into_iter().map(wire::dead_letter).collect(), next: None }))
}

async fn replay(
    request: OrgRequest,
    JsonBody(body): JsonBody<ReplayBusRequest>,
) -> Result<Json<ReplayedLetters>> {
    let agents = request.connected_agents()?;
    let queue = body.queue.as_deref();
    let replayed = request.operations().replay_bus(&agents, queue, body.message).await;
    Ok(Json(ReplayedLetters { replayed: request.hide_foreign_org(replayed)? }))
}
