//! Routes for the models of an org's agents that name none.

use axum::Json;
use ostler_api::org::{ChosenModels, ModelChoice};
use ostler_api::problem::ProblemCode;
use ostler_domain::org::permission::OrgPermission::Configure;
use serde_json::json;

use super::OrgRequest;
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::route::{Route, put};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        put(
            Configure,
            "/models",
            "chooseModels",
            "Choose the models of agents that name none; an empty list means the installation's",
            choose,
        )
        .example(json!({"models": ["anthropic/claude-sonnet-4-5"]})),
    ]
}

async fn choose(
    request: OrgRequest,
    JsonBody(ModelChoice { models }): JsonBody<ModelChoice>,
) -> Result<Json<ChosenModels>> {
    let mut notes = Vec::new();
    for name in &models {
        let checked = request.host().check_model(name);
        notes.extend(checked.map_err(|why| ApiError::new(ProblemCode::Invalid, why))?);
    }
    let chosen = request.operations().set_models(models.clone()).await;
    let before = request.hide_foreign_org(chosen)?;
    Ok(Json(ChosenModels { before, models, notes }))
}
