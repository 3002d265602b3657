//! From a request to its answer.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::Limits;
use super::answer::{Broken, answer};
use super::check;
use super::dialect::Dialect;
use super::record::{Log, Recorded};
use crate::scripted::{Asked, Player, Size};

pub(super) type Body = BoxBody<Bytes, Broken>;

/// What every connection of a server shares.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) player: Player,
    pub(super) log: Arc<Log>,
    pub(super) limits: Limits,
}

/// A status and what is wrong.
struct Refusal(StatusCode, String);

pub(super) async fn route(
    host: &Host,
    request: Request<Incoming>,
) -> Result<Response<Body>, Broken> {
    let dialect = match (request.method(), request.uri().path()) {
        (&Method::GET, "/v1/models") => return Ok(json_response(StatusCode::OK, &models(host))),
        (&Method::POST, "/v1/chat/completions") => Dialect::OpenAi,
        (&Method::POST, "/v1/messages") => Dialect::Anthropic,
        (method, path) => {
            let what = format!(
                "there is no {method} {path} here; there are POST /v1/chat/completions, \
                 POST /v1/messages and GET /v1/models"
            );
            return Ok(refusal(Dialect::OpenAi, &Refusal(StatusCode::NOT_FOUND, what)));
        }
    };
    match ask(host, dialect, request).await {
        Ok(answered) => answered,
        Err(refused) => Ok(refusal(dialect, &refused)),
    }
}

async fn ask(
    host: &Host,
    dialect: Dialect,
    request: Request<Incoming>,
) -> Result<Result<Response<Body>, Broken>, Refusal> {
    let (head, body) = request.into_parts();
    let body = read(body, &host.limits).await?;
    let (path, headers) = (head.uri.path().to_owned(), head.headers);
    host.log.add(Recorded { path, headers, body: body.clone() });
    let wrong = |what: String| Refusal(StatusCode::BAD_REQUEST, what);
    let json: Value = serde_json::from_slice(&body)
        .map_err(|error| wrong(format!("the body is not JSON: {error}")))?;
    let wanted = dialect.read(&json).map_err(wrong)?;
    check::pairs(&wanted.history).map_err(wrong)?;
    let reply = host.player.reply(&Asked {
        model: &wanted.model,
        system: &wanted.system,
        history: &wanted.history,
        offered: &wanted.offered,
        size: Size::Tokens(wanted.tool_tokens),
    });
    Ok(answer(dialect, &wanted, reply, host.limits.answer).await)
}

async fn read(body: Incoming, limits: &Limits) -> Result<Bytes, Refusal> {
    let most = limits.body;
    match tokio::time::timeout(limits.request, Limited::new(body, most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            let what = format!("a request has at most {most} bytes, and all of them");
            Err(Refusal(StatusCode::PAYLOAD_TOO_LARGE, what))
        }
        Err(_) => {
            let what = "the request did not come in time".to_owned();
            Err(Refusal(StatusCode::REQUEST_TIMEOUT, what))
        }
    }
}

/// The one model there is, as both providers list theirs.
fn models(host: &Host) -> Value {
    let id = host.player.script().model();
    let model = json!({
        "id": id, "object": "model", "created": 0, "owned_by": "script",
        "type": "model", "display_name": id, "created_at": "1970-01-01T00:00:00Z",
    });
    json!({"object": "list", "data": [model], "has_more": false, "first_id": id, "last_id": id})
}

fn refusal(dialect: Dialect, Refusal(status, what): &Refusal) -> Response<Body> {
    json_response(*status, &dialect.error(status.as_u16(), what))
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
