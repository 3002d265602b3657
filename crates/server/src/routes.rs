//! All routes, and the middleware around them.

use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use ostler_api::problem::ProblemCode;

use crate::error::ApiError;
use crate::orgs::settings as org_settings;
use crate::orgs::threads::{self, settings, turns};
use crate::orgs::{
    approvals, credits, dead_letters, escalations, exchange, knowledge, notices, proposals,
    sessions, unknown_outcomes,
};
use crate::server::Server;
use crate::{account, caller, chat, events, health, idempotency, refusals, webhooks};

/// Time for a request including its body. Streams continue after it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn router(server: Server) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/widget.js", get(chat::widget))
        .nest("/chat/{binding}", chat_routes(&server))
        .route("/v1/webhooks/{binding}", post(webhooks::receive))
        .merge(account::public_routes())
        .nest("/v1", api_routes(&server))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn(wrap_request))
        .with_state(server)
}

/// Routes of the web chat, by visitor token.
fn chat_routes(server: &Server) -> Router<Server> {
    Router::new()
        .route("/", get(chat::page::show))
        .route("/visitors", post(chat::visitors::create).options(chat::cors::preflight))
        .route("/tickets", post(chat::tickets::create).options(chat::cors::preflight))
        .route("/messages", post(chat::messages::post).options(chat::cors::preflight))
        .route("/events", get(chat::events::follow).options(chat::cors::preflight))
        .route("/files/{blob}", get(chat::files::read))
        .layer(middleware::from_fn_with_state(server.clone(), chat::cors::check_origin))
}

/// Routes that need an API key or a log-in.
fn api_routes(server: &Server) -> Router<Server> {
    Router::new()
        .merge(account::own_routes())
        .route("/events", get(events::follow))
        .nest("/orgs/{org}", org_routes().merge(thread_routes()).merge(account::member_routes()))
        .layer(middleware::from_fn_with_state(server.clone(), idempotency::run_once))
        .layer(middleware::from_fn_with_state(server.clone(), refusals::audit))
        .layer(middleware::from_fn(run_to_end))
        .layer(middleware::from_fn_with_state(server.clone(), caller::authenticate))
}

/// Runs a request that changes something to its end, also if the client disconnects.
async fn run_to_end(request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    let response = tokio::spawn(next.run(request)).await;
    response.unwrap_or_else(|error| ApiError::internal(&error).into_response())
}

/// Routes of one org.
fn org_routes() -> Router<Server> {
    Router::new()
        .route("/settings", get(org_settings::show).patch(org_settings::change))
        .route("/sharing", get(org_settings::show_sharing).patch(org_settings::change_sharing))
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
        .route("/unknown-outcomes", get(unknown_outcomes::list))
        .route("/unknown-outcomes/{call}/resolve", post(unknown_outcomes::resolve))
        .route("/credits", get(credits::show))
        .route("/credits/ledger", get(credits::ledger))
        .route("/credits/grants", post(credits::grant))
        .route("/knowledge", get(knowledge::list).post(knowledge::add))
        .route("/knowledge/{document}", delete(knowledge::remove))
        .route("/issues", get(exchange::issues))
        .route("/issues/{issue}/acknowledge", post(exchange::acknowledge_issue))
        .route("/issues/{issue}/resolve", post(exchange::resolve_issue))
        .route("/issues/{issue}/dismiss", post(exchange::dismiss_issue))
        .route("/org-delegations", get(exchange::delegations).post(exchange::delegate))
        .route("/org-delegations/{delegation}/accept", post(exchange::accept_delegation))
        .route("/org-delegations/{delegation}/reject", post(exchange::reject_delegation))
        .route("/org-delegations/{delegation}/complete", post(exchange::complete_delegation))
        .route("/insights", get(exchange::insights))
        .route("/insights/{insight}/acknowledge", post(exchange::acknowledge_insight))
        .route("/soul-proposals", get(proposals::souls))
        .route("/soul-proposals/{proposal}", get(proposals::soul))
        .route("/soul-proposals/{proposal}/approve", post(proposals::approve_soul))
        .route("/soul-proposals/{proposal}/reject", post(proposals::reject_soul))
        .route("/promotions", get(proposals::promotions))
        .route("/promotions/{agent}/approve", post(proposals::approve_promotion))
        .route("/promotions/{agent}/reject", post(proposals::reject_promotion))
        .route("/notices", get(notices::list))
        .route("/notices/{notice}/read", post(notices::read))
}

/// Routes of the interactive harness.
fn thread_routes() -> Router<Server> {
    let thread = Router::new()
        .route("/", get(threads::show).patch(threads::rename).delete(threads::delete))
        .route("/clone", post(threads::clone))
        .route("/messages", get(threads::list::messages).post(turns::send))
        .route("/follow-ups", post(turns::follow_up))
        .route("/steer", post(turns::steer))
        .route("/abort", post(turns::abort))
        .route("/resume", post(turns::resume))
        .route("/retry", post(turns::retry))
        .route("/answers", post(threads::answers::answer))
        .route("/mode", put(settings::set_mode))
        .route("/model", put(settings::set_model))
        .route("/state", get(settings::state).patch(settings::change_state))
        .route("/permissions", get(settings::permissions).patch(settings::change_permissions))
        .route("/tasks", get(settings::tasks))
        .route("/memory", get(settings::memory))
        .route("/events", get(threads::events::follow));
    Router::new()
        .route("/threads", get(threads::list::threads).post(threads::create))
        .nest("/threads/{thread}", thread)
}

/// Adds a timeout, a log line without secrets, and headers against caching and
/// content sniffing to every request.
async fn wrap_request(path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let (start, method) = (Instant::now(), request.method().clone());
    let response = tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await;
    let mut response = response.unwrap_or_else(|_| {
        ApiError::new(ProblemCode::TimedOut, "the request took too long; send it again")
            .into_response()
    });
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let path = path.as_ref().map_or("-", MatchedPath::as_str);
    let (status, duration_ms) = (response.status().as_u16(), start.elapsed().as_millis());
    tracing::debug!(%method, path, status, duration_ms, "request served");
    response
}

async fn not_found() -> ApiError {
    ApiError::new(ProblemCode::NotFound, "no such route")
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(ProblemCode::MethodNotAllowed, "this route does not support the method")
}
