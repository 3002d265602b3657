//! What the user wants to be notified of in an org.

use axum::Json;
use ostler_api::problem::ProblemCode;
use serde_json::Value;

use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::orgs::OrgRequest;

/// `GET notice-choices`.
pub(super) async fn show(request: OrgRequest) -> Result<Json<Value>> {
    Ok(Json(request.hide_foreign_org(request.operations().own_notice_choices().await)?))
}

/// `PATCH notice-choices`.
pub(super) async fn change(
    request: OrgRequest,
    JsonBody(patch): JsonBody<Value>,
) -> Result<Json<Value>> {
    let Value::Object(patch) = patch else {
        let detail =
            "a change of choices is an object, such as {\"topics\": {\"escalation\": [\"email\"]}}";
        return Err(ApiError::new(ProblemCode::BadRequest, detail));
    };
    let changed = request.operations().change_own_notice_choices(&patch).await;
    Ok(Json(request.hide_foreign_org(changed)?))
}
