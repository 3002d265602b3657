//! Routes for the settings of an org, and for what it pays for its client orgs.

use axum::Json;
use ostler_api::problem::ProblemCode;
use ostler_runtime::operations::OrgSection;
use serde_json::Value;

use super::OrgRequest;
use crate::body::JsonBody;
use crate::error::{ApiError, Result};

pub(crate) async fn show(request: OrgRequest) -> Result<Json<Value>> {
    read(&request, OrgSection::Settings).await
}

pub(crate) async fn change(request: OrgRequest, patch: JsonBody<Value>) -> Result<Json<Value>> {
    write(&request, OrgSection::Settings, patch).await
}

pub(crate) async fn show_sharing(request: OrgRequest) -> Result<Json<Value>> {
    read(&request, OrgSection::Sharing).await
}

pub(crate) async fn change_sharing(
    request: OrgRequest,
    patch: JsonBody<Value>,
) -> Result<Json<Value>> {
    write(&request, OrgSection::Sharing, patch).await
}

async fn read(request: &OrgRequest, section: OrgSection) -> Result<Json<Value>> {
    Ok(Json(request.hide_foreign_org(request.operations().settings(section).await)?))
}

async fn write(
    request: &OrgRequest,
    section: OrgSection,
    JsonBody(patch): JsonBody<Value>,
) -> Result<Json<Value>> {
    if !patch.is_object() {
        let detail = "a change of settings is an object, such as {\"team\": {\"max_handoffs\": 3}}";
        return Err(ApiError::new(ProblemCode::BadRequest, detail));
    }
    let changed = request.operations().change_settings(section, &patch).await;
    Ok(Json(request.hide_foreign_org(changed)?))
}
