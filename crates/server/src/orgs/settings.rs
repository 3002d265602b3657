//! Routes for the settings of an org, and for what it pays for its client orgs.

use ostler_api::problem::ProblemCode;
use ostler_runtime::operations::OrgSection;
use serde_json::Value;

use super::OrgRequest;
use super::tagged::{IfMatch, Tagged};
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::route::describe::schema_of;
use crate::route::{Route, get, patch};
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use ostler_runtime::operations::definitions::{SettingsDefinition, SharingDefinition};
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    let (settings, sharing) = (schema_of::<SettingsDefinition>, schema_of::<SharingDefinition>);
    vec![
        get(View, "/settings", "getSettings", "Show every setting", show).returns(settings),
        patch(
            Configure,
            "/settings",
            "changeSettings",
            "Change settings by a JSON merge patch; null resets one to its default",
            change,
        )
        .takes(settings)
        .returns(settings)
        .example(json!({"team": {"max_handoffs": 3}})),
        get(
            View,
            "/sharing",
            "getSharing",
            "Show what the organization pays for its clients in a day",
            show_sharing,
        )
        .returns(sharing),
        patch(
            Configure,
            "/sharing",
            "changeSharing",
            "Change what the organization pays for its clients, by a JSON merge patch",
            change_sharing,
        )
        .takes(sharing)
        .returns(sharing)
        .example(json!({})),
    ]
}

pub(crate) async fn show(request: OrgRequest) -> Result<Tagged> {
    read(&request, OrgSection::Settings).await
}

pub(crate) async fn change(
    request: OrgRequest,
    based_on: IfMatch,
    patch: JsonBody<Value>,
) -> Result<Tagged> {
    write(&request, OrgSection::Settings, &based_on, patch).await
}

pub(crate) async fn show_sharing(request: OrgRequest) -> Result<Tagged> {
    read(&request, OrgSection::Sharing).await
}

pub(crate) async fn change_sharing(
    request: OrgRequest,
    based_on: IfMatch,
    patch: JsonBody<Value>,
) -> Result<Tagged> {
    write(&request, OrgSection::Sharing, &based_on, patch).await
}

async fn read(request: &OrgRequest, section: OrgSection) -> Result<Tagged> {
    Ok(Tagged(request.hide_foreign_org(request.operations().settings(section).await)?))
}

async fn write(
    request: &OrgRequest,
    section: OrgSection,
    based_on: &IfMatch,
    JsonBody(patch): JsonBody<Value>,
) -> Result<Tagged> {
    if !patch.is_object() {
        let detail = "a change of settings is an object, such as {\"team\": {\"max_handoffs\": 3}}";
        return Err(ApiError::new(ProblemCode::BadRequest, detail));
    }
    let changed =
        request.operations().change_settings_of(section, &patch, based_on.version()).await;
    Ok(Tagged(request.hide_foreign_org(changed)?))
}
