//! Sending messages, and stopping, steering and continuing turns. A request returns when
//! its turn has begun; the turn does not need the client any more.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use ostler_api::problem::ProblemCode;
use ostler_api::thread::{ThreadInput, TurnAborted, TurnStarted};
use ostler_domain::id::ThreadId;
use ostler_harness::{MessageInput, StartedTurn};
use ostler_runtime::operations::ThreadAccess;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::super::{OrgRequest, PathId};
use super::answers;
use crate::body::{JsonBody, QueryParams};
use crate::error::{ApiError, Result};
use crate::route::{Route, post};
use crate::threads::LiveThread;
use ostler_domain::org::permission::OrgPermission::Operate;
use serde_json::json;

pub(super) fn routes() -> Vec<Route> {
    let message = || json!({"text": "Hello!"});
    // 200 if the request waited for the end of the turn.
    let begun: &[u16] = &[202, 200];
    vec![
        post(Operate, "/threads/{thread}/messages", "sendThreadMessage", "Send a message", send)
            .statuses(begun)
            .example(message()),
        post(
            Operate,
            "/threads/{thread}/follow-ups",
            "sendFollowUp",
            "Send a message after the running turn",
            follow_up,
        )
        .statuses(&[202])
        .example(message()),
        post(
            Operate,
            "/threads/{thread}/steer",
            "steerThread",
            "Stop the turn, discard the queue and send a message",
            steer,
        )
        .statuses(begun)
        .example(message()),
        post(Operate, "/threads/{thread}/abort", "abortTurn", "Stop the turn", abort),
        post(
            Operate,
            "/threads/{thread}/resume",
            "resumeThread",
            "Continue an interrupted turn or the queue",
            resume,
        )
        .statuses(begun),
        post(
            Operate,
            "/threads/{thread}/retry",
            "retryThread",
            "Answer the last message again",
            retry,
        )
        .statuses(begun),
        post(
            Operate,
            "/threads/{thread}/answers",
            "answerThreadQuestion",
            "Answer a question, a tool call or a plan by its id",
            answers::answer,
        )
        .example(json!({"type": "question", "id": "ask_1", "text": "Yes"})),
    ]
}

/// Longest message, in bytes.
const MAX_TEXT: usize = 256 * 1024;
/// The most images of a message.
const MAX_IMAGES: usize = 10;
/// How long `wait=true` waits for the end of a turn.
const MAX_WAIT: Duration = Duration::from_secs(50);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WaitQuery {
    #[serde(default)]
    wait: bool,
}

impl WaitQuery {
    /// Returns the response for a turn; with `wait`, when the turn has ended or after a
    /// while.
    async fn respond(
        &self,
        thread_id: ThreadId,
        turn: StartedTurn,
    ) -> (StatusCode, Json<TurnStarted>) {
        let turn_id = Some(turn.id);
        let wait = if self.wait { MAX_WAIT } else { Duration::ZERO };
        let ended = tokio::time::timeout(wait, turn.ended()).await.ok().filter(|_| self.wait);
        let reason = ended.map(|outcome| reason_name(&super::snapshot::json(&outcome.reason)));
        let status = if reason.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
        (status, Json(TurnStarted { thread_id, turn_id, reason }))
    }
}

fn reason_name(reason: &Value) -> String {
    reason.as_str().unwrap_or_default().to_owned()
}

/// Returns the message for a thread, with the images that it names.
async fn message(live: &LiveThread, input: ThreadInput) -> Result<MessageInput> {
    let ThreadInput { text, images } = input;
    if text.len() > MAX_TEXT {
        let detail = format!("a message has at most {MAX_TEXT} bytes");
        return Err(ApiError::new(ProblemCode::TooLarge, detail));
    }
    if images.len() > MAX_IMAGES {
        let detail = format!("a message has at most {MAX_IMAGES} images");
        return Err(ApiError::new(ProblemCode::TooLarge, detail));
    }
    let mut parts = Vec::with_capacity(images.len());
    for image in images {
        parts.push(live.harness.image(image).await?);
    }
    Ok(MessageInput::with_attachments(text, parts))
}

pub(crate) async fn send(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(wait): QueryParams<WaitQuery>,
    JsonBody(input): JsonBody<ThreadInput>,
) -> Result<(StatusCode, Json<TurnStarted>)> {
    let (_, id, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    Ok(wait.respond(id, live.harness.start_message(message(&live, input).await?).await?).await)
}

pub(crate) async fn steer(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(wait): QueryParams<WaitQuery>,
    JsonBody(input): JsonBody<ThreadInput>,
) -> Result<(StatusCode, Json<TurnStarted>)> {
    let (_, id, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    Ok(wait.respond(id, live.harness.start_steer(message(&live, input).await?).await?).await)
}

pub(crate) async fn follow_up(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(input): JsonBody<ThreadInput>,
) -> Result<(StatusCode, Json<TurnStarted>)> {
    let (_, thread_id, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    let message = message(&live, input).await?;
    let turn_id = live.harness.follow_up(message).await?.map(|turn| turn.id);
    Ok((StatusCode::ACCEPTED, Json(TurnStarted { thread_id, turn_id, reason: None })))
}

pub(crate) async fn resume(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(wait): QueryParams<WaitQuery>,
) -> Result<(StatusCode, Json<TurnStarted>)> {
    let (_, id, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    Ok(wait.respond(id, live.harness.start_resume().await?).await)
}

pub(crate) async fn retry(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(wait): QueryParams<WaitQuery>,
) -> Result<(StatusCode, Json<TurnStarted>)> {
    let (_, id, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    Ok(wait.respond(id, live.harness.start_retry().await?).await)
}

pub(crate) async fn abort(request: OrgRequest, PathId(id): PathId) -> Result<Json<TurnAborted>> {
    let (_, _, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    Ok(Json(TurnAborted { aborted: live.harness.abort().await }))
}
