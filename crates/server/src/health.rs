//! Liveness and readiness.

use axum::Json;
use axum::extract::State;
use ostler_api::problem::ProblemCode;
use ostler_store::SCHEMA_VERSION;
use serde_json::{Value, json};

use crate::error::{ApiError, Result};
use crate::server::Server;

/// `GET /healthz`: the process serves requests.
pub(crate) async fn alive() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// `GET /readyz`: the database answers, its schema is current, and the server is
/// not stopping.
pub(crate) async fn ready(State(server): State<Server>) -> Result<Json<Value>> {
    if *server.stop.borrow() {
        return Err(ApiError::new(ProblemCode::Unavailable, "the server is stopping"));
    }
    if server.deps.store.schema_version().await? != SCHEMA_VERSION {
        return Err(ApiError::new(
            ProblemCode::Unavailable,
            "the database schema is not the one this version needs",
        ));
    }
    Ok(Json(json!({"status": "ready"})))
}
