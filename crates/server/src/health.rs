//! Liveness and readiness.

use std::time::Duration;

use axum::extract::State;
use axum::{Extension, Json};
use ostler_api::problem::ProblemCode;
use ostler_api::service::ServiceStatus;
use ostler_store::SCHEMA_VERSION;

use crate::error::{ApiError, Result};
use crate::rate_limits::RateKey;
use crate::route::Access::Public;
use crate::route::{Route, get};
use crate::server::{ClientAddress, Server};

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

/// How long the database may take to write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// `GET /readyz`: the database can be written, its schema is current, and the server is
/// not stopping.
pub(crate) async fn ready(
    State(server): State<Server>,
    Extension(client): Extension<ClientAddress>,
) -> Result<Json<ServiceStatus>> {
    // The check writes, so nobody may ask all the time.
    server.rates.take(RateKey::address(client.0), server.deps.clock.now())?;
    if *server.stop.borrow() {
        return Err(ApiError::new(ProblemCode::Unavailable, "the server is stopping"));
    }
    if server.deps.store.schema_version().await? != SCHEMA_VERSION {
        return Err(ApiError::new(
            ProblemCode::Unavailable,
            "the database schema is not the one this version needs",
        ));
    }
    match tokio::time::timeout(WRITE_TIMEOUT, server.deps.store.check_writable()).await {
        Ok(Ok(())) => Ok(Json(ServiceStatus { status: "ready".to_owned() })),
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready, the database cannot be written");
            let detail = "the database cannot be written; see `ostler doctor`";
            Err(ApiError::new(ProblemCode::Unavailable, detail))
        }
        Err(_) => Err(ApiError::new(ProblemCode::Unavailable, "the database is too slow")),
    }
}
