//! Routes a request to its answer.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::MockLimits;
use super::answer::{ConnectionClosed, answer};
use super::check;
use super::dialect::Dialect;
use super::record::{RecordedRequest, RequestLog};
use crate::{ModelRequest, Responder, ToolTokens};

pub(super) type Body = BoxBody<Bytes, ConnectionClosed>;

/// The state shared by all connections.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) responder: Responder,
    pub(super) log: Arc<RequestLog>,
    pub(super) limits: MockLimits,
}

/// A status and an error message.
struct Rejection(StatusCode, String);

pub(super) async fn route(
    state: &ServerState,
    request: Request<Incoming>,
) -> Result<Response<Body>, ConnectionClosed> {
    let dialect = match (request.method(), request.uri().path()) {
        (&Method::GET, "/v1/models") => return Ok(json_response(StatusCode::OK, &models(state))),
        (&Method::POST, "/v1/chat/completions") => Dialect::OpenAi,
        (&Method::POST, "/v1/messages") => Dialect::Anthropic,
        (method, path) => {
            let message = format!(
                "there is no {method} {path} here; there are POST /v1/chat/completions, \
                 POST /v1/messages and GET /v1/models"
            );
            return Ok(rejection(Dialect::OpenAi, &Rejection(StatusCode::NOT_FOUND, message)));
        }
    };
    match ask(state, dialect, request).await {
        Ok(answered) => answered,
        Err(refused) => Ok(rejection(dialect, &refused)),
    }
}

async fn ask(
    state: &ServerState,
    dialect: Dialect,
    request: Request<Incoming>,
) -> Result<Result<Response<Body>, ConnectionClosed>, Rejection> {
    let (head, body) = request.into_parts();
    let body = read(body, &state.limits).await?;
    let (path, headers) = (head.uri.path().to_owned(), head.headers);
    state.log.add(RecordedRequest { path, headers, body: body.clone() });
    let bad_request = |message: String| Rejection(StatusCode::BAD_REQUEST, message);
    let json: Value = serde_json::from_slice(&body)
        .map_err(|error| bad_request(format!("the body is not JSON: {error}")))?;
    let parsed = dialect.read(&json).map_err(bad_request)?;
    check::check_call_results(&parsed.history).map_err(bad_request)?;
    let reply = state.responder.reply(&ModelRequest {
        model: &parsed.model,
        system: &parsed.system,
        history: &parsed.history,
        offered: &parsed.offered,
        size: ToolTokens::Tokens(parsed.tool_tokens),
    });
    Ok(answer(dialect, &parsed, reply, state.limits.answer).await)
}

async fn read(body: Incoming, limits: &MockLimits) -> Result<Bytes, Rejection> {
    let max_bytes = limits.body;
    match tokio::time::timeout(limits.request, Limited::new(body, max_bytes).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            let message = format!("the request is incomplete or larger than {max_bytes} bytes");
            Err(Rejection(StatusCode::PAYLOAD_TOO_LARGE, message))
        }
        Err(_) => {
            let message = "the request was not received in time".to_owned();
            Err(Rejection(StatusCode::REQUEST_TIMEOUT, message))
        }
    }
}

/// Returns the list of models, in a form that suits both wire formats.
fn models(state: &ServerState) -> Value {
    let id = state.responder.script().model();
    let model = json!({
        "id": id, "object": "model", "created": 0, "owned_by": "script",
        "type": "model", "display_name": id, "created_at": "1970-01-01T00:00:00Z",
    });
    json!({"object": "list", "data": [model], "has_more": false, "first_id": id, "last_id": id})
}

fn rejection(dialect: Dialect, Rejection(status, message): &Rejection) -> Response<Body> {
    json_response(*status, &dialect.error(status.as_u16(), message))
}

pub(super) fn json_response(status: StatusCode, json: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(json.to_string()));
    response(status, "application/json", body.map_err(|never| match never {}).boxed())
}

pub(super) fn response(status: StatusCode, content: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let content = hyper::header::HeaderValue::from_static(content);
    response.headers_mut().insert(CONTENT_TYPE, content);
    response
}
