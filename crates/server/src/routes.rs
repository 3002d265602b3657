//! The router: the routes of the table, and the middleware around them. A new route is added to
//! the `routes()` of its module, a new module to `route/table.rs`; who may call it is its first
//! argument, checked in `route/access.rs`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::options;
use ostler_api::problem::ProblemCode;
use tracing::{Instrument as _, Span, field};

use crate::error::ApiError;
use crate::route::access::{OrgAccess, authorize};
use crate::route::{Access, Group, Protocol, Route, RouteDuration};
use crate::server::Server;
use crate::{agent_reply, caller, chat, completions, idempotency, refusals};

/// Time for a request including its body. Streams continue after it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for a request that waits for an agent: reading it, and the answer.
const ANSWER_TIMEOUT: Duration = agent_reply::MAX_WAIT.saturating_add(REQUEST_TIMEOUT);

/// Returns the router of a checked table.
pub(crate) fn router(server: &Server, table: Vec<Group>) -> Router {
    let (mut api, mut chat, mut others) = (Router::new(), Router::new(), Router::new());
    let (mut openai, mut mcp) = (Router::new(), Router::new());
    let timeouts = Timeouts::of(&table);
    for route in table.into_iter().flat_map(|group| group.routes) {
        match route.access {
            _ if route.protocol == Protocol::OpenAi => openai = add(openai, route, server),
            _ if route.protocol == Protocol::Mcp => mcp = add(mcp, route, server),
            Access::Org(_) | Access::Caller => api = add(api, route, server),
            Access::Visitor => chat = add(chat, route, server),
            Access::Public | Access::Signed | Access::LogIn => {
                others = add(others, route, server);
            }
        }
    }
    let state = || server.clone();
    let api = api
        .layer(middleware::from_fn_with_state(state(), refusals::audit))
        .layer(middleware::from_fn(run_to_end))
        .layer(middleware::from_fn_with_state(state(), caller::authenticate));
    let openai = openai
        .layer(middleware::from_fn_with_state(state(), refusals::audit))
        .layer(middleware::from_fn_with_state(state(), caller::authenticate))
        .layer(middleware::map_response(completions::reshape));
    let mcp = mcp
        .layer(middleware::from_fn_with_state(state(), refusals::audit))
        .layer(middleware::from_fn_with_state(state(), caller::authenticate));
    let chat = chat.layer(middleware::from_fn_with_state(state(), chat::cors::check_origin));
    others
        .merge(api)
        .merge(openai)
        .merge(mcp)
        .merge(chat)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state((state(), timeouts), wrap_request))
        .with_state(state())
}

/// Adds a route with the check of what it needs.
fn add(router: Router<Server>, route: Route, server: &Server) -> Router<Server> {
    let runs_once = route.runs_once();
    let Route { path, access, mut handler, .. } = route;
    if runs_once {
        let run_once = middleware::from_fn_with_state(server.clone(), idempotency::run_once);
        handler = handler.layer(run_once);
    }
    let handler = match access {
        Access::Org(permission) => handler.layer(middleware::from_fn_with_state(
            OrgAccess { server: server.clone(), permission },
            authorize,
        )),
        Access::Caller => handler,
        // Browsers ask before they send a request of a page of another origin.
        Access::Visitor => handler.merge(options(chat::cors::preflight)),
        Access::Public | Access::Signed | Access::LogIn => handler,
    };
    router.route(&path, handler)
}

/// Runs a request that changes something to its end, also if the client disconnects.
async fn run_to_end(request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    let response = tokio::spawn(next.run(request)).await;
    response.unwrap_or_else(|error| ApiError::internal(&error).into_response())
}

/// The time that requests may take, by their paths.
#[derive(Debug, Clone)]
struct Timeouts(Arc<HashMap<String, Duration>>);

impl Timeouts {
    fn of(table: &[Group]) -> Self {
        let routes = table.iter().flat_map(|group| &group.routes);
        let waiting = routes.filter(|route| route.duration == RouteDuration::Answer);
        Self(Arc::new(waiting.map(|route| (route.path.clone(), ANSWER_TIMEOUT)).collect()))
    }

    fn get(&self, path: Option<&MatchedPath>) -> Duration {
        let known = path.and_then(|path| self.0.get(path.as_str()));
        known.copied().unwrap_or(REQUEST_TIMEOUT)
    }
}

/// Adds a timeout, a log line without secrets, and headers against caching and
/// content sniffing to every request.
async fn wrap_request(
    State((server, timeouts)): State<(Server, Timeouts)>,
    path: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let (start, method) = (Instant::now(), request.method().clone());
    let route = path.as_ref().map_or("-", MatchedPath::as_str);
    let span = request_span(&method, route);
    let served = next.run(request).instrument(span.clone());
    let response = tokio::time::timeout(timeouts.get(path.as_ref()), served).await;
    let mut response = response.unwrap_or_else(|_| {
        ApiError::new(ProblemCode::TimedOut, "the request took too long; send it again")
            .into_response()
    });
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let (status, took) = (response.status().as_u16(), start.elapsed());
    span.record("http.response.status_code", status);
    if status >= 500 {
        span.record("otel.status_code", "ERROR");
    }
    server.metrics.record(&method, route, status, took);
    let duration_ms = took.as_millis();
    tracing::debug!(%method, path = route, status, duration_ms, "request served");
    response
}

/// Returns the span of a request for traces, with the pattern of its path only.
fn request_span(method: &Method, route: &str) -> Span {
    let span = tracing::info_span!(
        target: "ostler::trace",
        "request",
        otel.name = field::Empty,
        otel.kind = "server",
        otel.status_code = field::Empty,
        http.request.method = method.as_str(),
        http.route = route,
        http.response.status_code = field::Empty,
    );
    if !span.is_disabled() {
        span.record("otel.name", format_args!("{method} {route}"));
    }
    span
}

async fn not_found() -> ApiError {
    ApiError::new(ProblemCode::NotFound, "no such route")
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(ProblemCode::MethodNotAllowed, "this route does not support the method")
}

#[cfg(test)]
mod tests {
    use super::{ANSWER_TIMEOUT, Timeouts};
    use crate::route::groups;

    /// K02: requests that wait for an agent may take as long as its answer.
    #[test]
    fn k02_requests_that_wait_for_an_agent_get_the_time_of_its_answer() {
        let Timeouts(timeouts) = Timeouts::of(&groups());
        for path in ["/v1/orgs/{org}/agents/{agent}/test-messages", "/v1/chat/completions"] {
            assert_eq!(timeouts.get(path), Some(&ANSWER_TIMEOUT), "{path}");
        }
        assert_eq!(timeouts.get("/v1/orgs/{org}/webhooks"), None);
    }
}
