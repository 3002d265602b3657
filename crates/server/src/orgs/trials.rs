//! Routes with which people try what they have set up: a channel, or an agent.

use axum::Json;
use ostler_api::agent_test::{TestAnswer, TestMessageRequest};
use ostler_api::channel_test::{
    ChannelStatus, ChannelTestRequest, ChannelTestResult, TestMessageResult,
};
use ostler_api::problem::ProblemCode;
use ostler_domain::message::MessagePart;
use ostler_domain::org::permission::OrgPermission::{Configure, Operate, View};
use ostler_runtime::operations::{AgentRequest, RequestContext};
use serde_json::json;

use super::{OrgRequest, PathId};
use crate::agent_reply::PendingReply;
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::route::{Route, get, post};

/// Longest test message, in bytes, and longest name of a conversation, in characters.
const MAX_MESSAGE: usize = 16 * 1024;
const MAX_NAME: usize = 64;

pub(crate) fn channel_routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/channels/{channel}/status",
            "getChannelStatus",
            "Show where a channel is reached, and what is wrong with it",
            channel_status,
        ),
        post(
            Configure,
            "/channels/{channel}/test",
            "testChannel",
            "Test a channel: whether its provider accepts it, and whether a message arrives",
            test_channel,
        )
        .example(json!({"to": "rosa@example.com"})),
    ]
}

pub(crate) fn agent_routes() -> Vec<Route> {
    vec![
        post(
            Operate,
            "/agents/{agent}/test-messages",
            "sendTestMessage",
            "Write to an agent in testing mode, and wait for its answer",
            send_test_message,
        )
        .example(json!({"conversation": "first-try", "text": "When are you open?"}))
        .waits_for_answer(),
    ]
}

async fn channel_status(request: OrgRequest, PathId(name): PathId) -> Result<Json<ChannelStatus>> {
    let channels = &request.server.deps.channels;
    let found = request.operations().channel_status(&name, channels).await;
    let status = request.hide_foreign_org(found)?;
    Ok(Json(ChannelStatus {
        binding: status.reached,
        address: request.channel_address(&status),
        open_failure: status.open_failure,
        receive_failure: status.receive_failure,
    }))
}

async fn test_channel(
    request: OrgRequest,
    PathId(name): PathId,
    JsonBody(body): JsonBody<Option<ChannelTestRequest>>,
) -> Result<Json<ChannelTestResult>> {
    let ChannelTestRequest { to } = body.unwrap_or_default();
    let channels = &request.server.deps.channels;
    let tested = request.operations().test_channel(&name, to.as_deref(), channels).await;
    let test = request.hide_foreign_org(tested)?;
    let (works, detail) = match test.connection {
        Ok(detail) => (true, detail),
        Err(reason) => (false, reason),
    };
    let message =
        test.message.map(|sent| TestMessageResult { delivered: sent.is_ok(), reason: sent.err() });
    Ok(Json(ChannelTestResult { works, detail, receive_failure: test.receive_failure, message }))
}

async fn send_test_message(
    request: OrgRequest,
    PathId(agent): PathId,
    JsonBody(TestMessageRequest { conversation, text }): JsonBody<TestMessageRequest>,
) -> Result<Json<TestAnswer>> {
    let known = request.hide_foreign_org(request.operations().answering_agents().await)?;
    if !known.iter().any(|one| one.slug == agent || one.id.to_string() == agent) {
        let detail = format!("no agent `{agent}` answers here");
        return Err(ApiError::new(ProblemCode::NotFound, detail));
    }
    let is_word = |name: &str| {
        (1..=MAX_NAME).contains(&name.chars().count())
            && !name.contains(|c: char| c.is_whitespace() || c.is_control())
    };
    if !is_word(&conversation) {
        let detail = format!("`conversation` has 1 to {MAX_NAME} characters without white space");
        return Err(ApiError::new(ProblemCode::Invalid, detail));
    }
    if text.trim().is_empty() || text.len() > MAX_MESSAGE {
        let detail = format!("`text` has 1 to {MAX_MESSAGE} bytes");
        return Err(ApiError::new(ProblemCode::Invalid, detail));
    }
    let message = AgentRequest {
        message: vec![MessagePart::text(text)],
        context: RequestContext::Conversation(conversation),
        is_test: true,
        ..AgentRequest::default()
    };
    let (caller, org) = (&request.caller, request.org);
    let answered =
        PendingReply::begin(&request.server, caller, org, &agent, message).await?.ended().await?;
    Ok(Json(TestAnswer {
        run: answered.run,
        session: answered.session,
        outcome: answered.outcome.as_str().to_owned(),
        texts: answered.texts,
        credits: answered.credits,
        pending_approvals: answered.approvals,
    }))
}
