//! Routes for the settings of an org.

use axum::Json;
use ostler_api::problem::ProblemCode;
use serde_json::Value;

use super::OrgRequest;
use crate::body::JsonBody;
use crate::error::{ApiError, Result};

pub(crate) async fn show(request: OrgRequest) -> Result<Json<Value>> {
    Ok(Json(request.hide_foreign_org(request.operations().settings().await)?))
}

pub(crate) async fn change(
    request: OrgRequest,
    JsonBody(patch): JsonBody<Value>,
) -> Result<Json<Value>> {
    if !patch.is_object() {
        let detail = "a change of settings is an object, such as {\"team\": {\"max_handoffs\": 3}}";
        return Err(ApiError::new(ProblemCode::BadRequest, detail));
    }
    Ok(Json(request.hide_foreign_org(request.operations().change_settings(&patch).await)?))
}
