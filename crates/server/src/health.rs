//! Liveness and readiness.

use axum::Json;
use axum::extract::State;
use ostler_api::problem::ProblemCode;
use ostler_api::service::ServiceStatus;
use ostler_store::SCHEMA_VERSION;

use crate::error::{ApiError, Result};
use crate::route::Access::Public;
use crate::route::{Route, get};
use crate::server::Server;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(Public, "/healthz", "getLiveness", "Say whether the process serves requests", alive),
        get(Public, "/readyz", "getReadiness", "Say whether the server can work", ready),
    ]
}

/// `GET /healthz`: the process serves requests.
pub(crate) async fn alive() -> Json<ServiceStatus> {
    Json(ServiceStatus { status: "ok".to_owned() })
}

/// `GET /readyz`: the database answers, its schema is current, and the server is
/// not stopping.
pub(crate) async fn ready(State(server): State<Server>) -> Result<Json<ServiceStatus>> {
    if *server.stop.borrow() {
        return Err(ApiError::new(ProblemCode::Unavailable, "the server is stopping"));
    }
    if server.deps.store.schema_version().await? != SCHEMA_VERSION {
        return Err(ApiError::new(
            ProblemCode::Unavailable,
            "the database schema is not the one this version needs",
        ));
    }
    Ok(Json(ServiceStatus { status: "ready".to_owned() }))
}
