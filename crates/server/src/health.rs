//! Whether the server lives, and whether it can do anything.

use axum::Json;
use axum::extract::State;
use ostler_api::problem::Code;
use ostler_store::SCHEMA_VERSION;
use serde_json::{Value, json};

use crate::refused::{Refused, Result};
use crate::server::Server;

/// It lives.
pub(crate) async fn alive() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// The database answers and has the tables that are needed, and nobody has told
/// the server to stop.
pub(crate) async fn ready(State(server): State<Server>) -> Result<Json<Value>> {
    if *server.stop.borrow() {
        return Err(Refused::new(Code::Unavailable, "the server is about to stop"));
    }
    if server.parts.store.schema_version().await? != SCHEMA_VERSION {
        return Err(Refused::new(Code::Unavailable, "the database has other tables than needed"));
    }
    Ok(Json(json!({"status": "ready"})))
}
