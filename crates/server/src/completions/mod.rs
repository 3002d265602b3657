//! `chat/completions` and `models`: any client of the OpenAI API can talk to an agent.
//!
//! A request goes the way of every message, in the agent's harness. Unless it names a
//! conversation, the messages of the request are the conversation, and the session ends with
//! the answer. Tools run here; a call that needs approval is pending, and the agent says so.
//! A client that disconnects aborts the turn.

mod answer;
mod error;
mod images;
mod models;
mod options;
mod parse;
mod stream;

use axum::Extension;
use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use ostler_api::completion::{Completion, CompletionRequest};
use ostler_api::problem::ProblemCode;
use serde_json::json;

use error::ChatError;
pub(crate) use error::reshape;
use stream::ChunkWriter;

use crate::agent_reply::{PendingReply, ReplyEvent};
use crate::caller::Caller;
use crate::error::ApiError;
use crate::route::describe::schema_of;
use crate::route::{Access, Protocol, Route, get, post};
use crate::server::{ClientAddress, Server};
use crate::stream::StreamHolder;

/// Largest body: images in base64, and text around them.
const MAX_BODY: usize = 30 << 20;

pub(crate) fn routes() -> Vec<Route> {
    let example = json!({
        "model": "gia",
        "messages": [{"role": "user", "content": "When are you open?"}],
    });
    vec![
        post(
            Access::Caller,
            "/chat/completions",
            "createChatCompletion",
            "Send a message to an agent, in the form of the OpenAI API",
            create,
        )
        .takes(schema_of::<CompletionRequest>)
        .example(example)
        .returns(schema_of::<Completion>)
        .or_streams()
        .speaks(Protocol::OpenAi),
        get(
            Access::Caller,
            "/models",
            "listModels",
            "List the agents that the caller may write to, in the form of the OpenAI API",
            models::list,
        )
        .speaks(Protocol::OpenAi),
        get(
            Access::Caller,
            "/models/{model}",
            "getModel",
            "Show an agent, in the form of the OpenAI API",
            models::show,
        )
        .speaks(Protocol::OpenAi),
    ]
}

async fn create(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    Extension(client): Extension<ClientAddress>,
    request: Request,
) -> Response {
    let answered = answer_request(server, caller, client, request).await;
    answered.unwrap_or_else(ChatError::into_response)
}

async fn answer_request(
    server: Server,
    caller: Caller,
    client: ClientAddress,
    request: Request,
) -> Result<Response, ChatError> {
    let (request, model) = read(&server, request).await?;
    let (org, agent) = models::find(&server, &caller, &model).await?;
    let streams = request.stream == Some(true);
    let stream_options = request.stream_options.clone().unwrap_or_default();
    let parsed = parse::parse(request)?;
    let created = server.deps.clock.now().as_millis() / 1000;
    let mut pending = PendingReply::begin(&server, &caller, org, &agent, parsed).await?;
    if !streams {
        let reply = pending.ended().await?;
        return Ok(Json(answer::completion(&reply, model, created)?).into_response());
    }
    // Until there is something to send, a failure still has its status.
    let first = loop {
        match pending.next().await? {
            ReplyEvent::Break => {}
            ReplyEvent::Ended(reply) => {
                answer::check(&reply)?;
                break ReplyEvent::Ended(reply);
            }
            text @ ReplyEvent::Text { .. } => break text,
        }
    };
    let with_usage = stream_options.include_usage == Some(true);
    let writer = ChunkWriter { run: pending.run, model, created, with_usage };
    let holders = [StreamHolder::address(client), StreamHolder::Org(org)];
    let revoked = caller.revoked(server.clone(), org);
    let write = |sink| writer.write(sink, first, pending);
    Ok(crate::stream::open(&server, holders, revoked, write)?)
}

/// Reads a request, and returns it with the name of its model.
async fn read(server: &Server, request: Request) -> Result<(CompletionRequest, String), ChatError> {
    let body = server.bodies.read(request.into_body(), MAX_BODY).await?;
    let request: CompletionRequest = serde_json::from_slice(&body.bytes).map_err(|error| {
        ApiError::new(ProblemCode::BadRequest, format!("the body is not valid: {error}"))
    })?;
    let model = request.model.clone();
    Ok((request, model))
}
