//! The route for messages to agents on queues.

use std::time::Duration;

use axum::Json;
use ostler_api::problem::ProblemCode;
use ostler_api::queue_agent::{AgentMessageRequest, SentAgentMessage};
use ostler_domain::org::permission::OrgPermission::Operate;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::operations::NewAgentMessage;
use serde_json::json;

use super::wire::parse_name;
use crate::agent_reply::MAX_WAIT;
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::orgs::{OrgRequest, PathId};
use crate::route::{Route, post};

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(
            Operate,
            "/queue-agents/{agent}/messages",
            "sendQueueAgentMessage",
            "Send a message to an agent on queues, and wait for its reply if wanted",
            send,
        )
        .example(json!({"text": "May we ship this?", "wait_ms": 30_000}))
        .waits_for_answer(),
    ]
}

async fn send(
    request: OrgRequest,
    PathId(name): PathId,
    JsonBody(body): JsonBody<AgentMessageRequest>,
) -> Result<Json<SentAgentMessage>> {
    let name: AgentName = parse_name(&name)?;
    request.hide_foreign_org(request.operations().queue_agent(None, &name).await)?;
    let AgentMessageRequest { text, message_type, approver, wait_ms } = body;
    let wait = wait_ms.map(Duration::from_millis);
    if wait.is_some_and(|wait| wait > MAX_WAIT) {
        let detail = format!("a reply is waited for at most {} s", MAX_WAIT.as_secs());
        return Err(ApiError::new(ProblemCode::Invalid, detail));
    }
    let agents = request.connected_agents()?;
    let new = NewAgentMessage { kind: message_type, text, approver, wait };
    let is_shared = request.server().deps.queues.is_shared;
    let sent = request.operations().send_to_queue_agent(&agents, is_shared, &name, new).await;
    let (message, reply) = request.hide_foreign_org(sent)?;
    Ok(Json(SentAgentMessage {
        message: message.message.id,
        reference: message.reference,
        reply: reply.map(|reply| json!(*reply)),
    }))
}
