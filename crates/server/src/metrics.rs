//! Metrics: what is measured of requests, and the listener from which Prometheus reads what a
//! process measures. It has an address of its own, because the numbers are for the operator and
//! not for everybody who reaches the API.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::future::BoxFuture;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::net::TcpListener;

/// How long reading the numbers may take.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

/// What is measured of requests. Clones share the values.
#[derive(Debug, Clone)]
pub struct HttpMetrics {
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabels, Histogram, fn() -> Histogram>,
}

impl Default for HttpMetrics {
    fn default() -> Self {
        let durations = Family::new_with_constructor(
            (|| Histogram::new([0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0]))
                as fn() -> Histogram,
        );
        Self { requests: Family::default(), durations }
    }
}

impl HttpMetrics {
    /// Makes the values part of what a process exports.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("ostler_http_requests", "Requests served", self.requests.clone());
        registry.register_with_unit(
            "ostler_http_request_duration",
            "Time until the response to a request began",
            Unit::Seconds,
            self.durations.clone(),
        );
    }

    /// Records a request; `route` is its pattern and not its path.
    pub(crate) fn record(&self, method: &Method, route: &str, status: u16, took: Duration) {
        let labels = RequestLabels { method: method_name(method), route: route.to_owned(), status };
        self.requests.get_or_create(&labels).inc();
        let labels = RouteLabels { route: labels.route };
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
    }
}

/// Returns the name of a method; clients can send any.
fn method_name(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// Returns what a process measures, as OpenMetrics text, or why it cannot be read.
pub type ReadMetrics = Arc<dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Serves `/metrics` until `shutdown` resolves.
pub async fn serve_metrics(
    listener: TcpListener,
    read: ReadMetrics,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let router = Router::new().route("/metrics", get(move || respond(read.clone())));
    let served = axum::serve(listener, router).with_graceful_shutdown(shutdown).await;
    if let Err(error) = served {
        tracing::warn!(%error, "metrics are not served any more");
    }
}

async fn respond(read: ReadMetrics) -> Response {
    match tokio::time::timeout(READ_TIMEOUT, read()).await {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Ok(Err(why)) => (StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the database is too slow").into_response(),
    }
}
