//! All routes, on one screen, and what surrounds each of them.

use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use ostler_api::problem::Code;

use crate::orgs::{
    approvals, credits, dead_letters, escalations, knowledge, notices, sessions, unknown_calls,
};
use crate::refused::Refused;
use crate::server::Server;
use crate::{caller, chat, events, health, once, webhooks};

/// How long a request may take, its body included. Streams go on after that.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn all(server: Server) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/widget.js", get(chat::widget))
        .nest("/chat/{binding}", visitors(&server))
        .route("/v1/webhooks/{binding}", post(webhooks::bring))
        .nest("/v1", keys(&server))
        .fallback(nothing)
        .method_not_allowed_fallback(not_so)
        .layer(middleware::from_fn(around))
        .with_state(server)
}

/// Pages that embed a chat, and those who visit them.
fn visitors(server: &Server) -> Router<Server> {
    Router::new()
        .route("/", get(chat::page::show))
        .route("/visitors", post(chat::visitors::welcome).options(chat::door::asked))
        .route("/messages", post(chat::messages::post).options(chat::door::asked))
        .route("/events", get(chat::events::follow).options(chat::door::asked))
        .route("/files/{blob}", get(chat::files::read))
        .layer(middleware::from_fn_with_state(server.clone(), chat::door::pass))
}

/// Programs with an API key.
fn keys(server: &Server) -> Router<Server> {
    Router::new()
        .route("/me", get(caller::me))
        .route("/events", get(events::follow))
        .nest("/orgs/{org}", org())
        .layer(middleware::from_fn_with_state(server.clone(), once::once))
        .layer(middleware::from_fn_with_state(server.clone(), caller::pass))
}

/// What operators do in an org.
fn org() -> Router<Server> {
    Router::new()
        .route("/sessions", get(sessions::list))
        .route("/sessions/{session}", get(sessions::show))
        .route("/sessions/{session}/take-over", post(sessions::take_over))
        .route("/sessions/{session}/messages", post(sessions::say))
        .route("/sessions/{session}/resume", post(sessions::resume))
        .route("/sessions/{session}/dismiss", post(sessions::dismiss))
        .route("/sessions/{session}/close", post(sessions::close))
        .route("/sessions/{session}/assign", post(sessions::assign))
        .route("/escalations", get(escalations::list))
        .route("/approvals", get(approvals::list))
        .route("/approvals/{approval}", get(approvals::show))
        .route("/approvals/{approval}/approve", post(approvals::approve))
        .route("/approvals/{approval}/reject", post(approvals::reject))
        .route("/dead-letters", get(dead_letters::list))
        .route("/dead-letters/{letter}", get(dead_letters::show))
        .route("/dead-letters/{letter}/replay", post(dead_letters::replay))
        .route("/dead-letters/{letter}/abandon", post(dead_letters::abandon))
        .route("/unknown-calls", get(unknown_calls::list))
        .route("/unknown-calls/{call}/resolve", post(unknown_calls::resolve))
        .route("/credits", get(credits::show))
        .route("/credits/ledger", get(credits::ledger))
        .route("/credits/grants", post(credits::grant))
        .route("/knowledge", get(knowledge::list).post(knowledge::add))
        .route("/knowledge/{document}", delete(knowledge::remove))
        .route("/notices", get(notices::list))
        .route("/notices/{notice}/read", post(notices::read))
}

/// Every request has a time, a line in the log without anything secret in it,
/// and an answer that nobody keeps or takes for something else.
async fn around(path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let (began, method) = (Instant::now(), request.method().clone());
    let answer = tokio::time::timeout(PATIENCE, next.run(request)).await;
    let mut answer = answer.unwrap_or_else(|_| {
        Refused::new(Code::TimedOut, "the request took too long; send it again").into_response()
    });
    let headers = answer.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let path = path.as_ref().map_or("-", MatchedPath::as_str);
    let (status, took_ms) = (answer.status().as_u16(), began.elapsed().as_millis());
    tracing::debug!(%method, path, status, took_ms, "answered");
    answer
}

async fn nothing() -> Refused {
    Refused::new(Code::NotFound, "there is nothing at this address")
}

async fn not_so() -> Refused {
    Refused::new(Code::MethodNotAllowed, "this address is used with another method")
}
