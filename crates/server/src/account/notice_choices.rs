//! What the user wants to be notified of in an org.

use ostler_api::problem::ProblemCode;
use serde_json::Value;

use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::orgs::OrgRequest;
use crate::orgs::tagged::{IfMatch, Tagged};

/// `GET notice-choices`.
pub(super) async fn show(request: OrgRequest) -> Result<Tagged> {
    Ok(Tagged(request.hide_foreign_org(request.operations().own_notice_choices().await)?))
}

/// `PATCH notice-choices`.
pub(super) async fn change(
    request: OrgRequest,
    based_on: IfMatch,
    JsonBody(patch): JsonBody<Value>,
) -> Result<Tagged> {
    let Value::Object(patch) = patch else {
        let detail =
            "a change of choices is an object, such as {\"topics\": {\"escalation\": [\"email\"]}}";
        return Err(ApiError::new(ProblemCode::BadRequest, detail));
    };
    let _turn = based_on.turn(request.server()).await;
    let before = request.hide_foreign_org(request.operations().own_notice_choices().await)?;
    based_on.check(&before)?;
    let changed = request.operations().change_own_notice_choices(&patch).await;
    Ok(Tagged(request.hide_foreign_org(changed)?))
}
