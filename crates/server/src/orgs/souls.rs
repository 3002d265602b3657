//! Routes for the souls of agents. A soul is changed with its agent.

use axum::Json;
use ostler_api::soul::{PromptPreview, PromptRequest, RollbackRequest, SoulVersions};
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use ostler_domain::soul::SoulVersion;
use ostler_runtime::operations::definitions::AgentDefinition;
use serde_json::json;

use super::resources::current;
use super::tagged::IfMatch;
use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::Result;
use crate::route::{Route, get, post};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/agents/{agent}/soul/versions",
            "listSoulVersions",
            "List the versions of an agent's soul, from 1",
            versions,
        ),
        post(
            Configure,
            "/agents/{agent}/soul/rollback",
            "rollBackSoul",
            "Restore an earlier version as a new one; the `ETag` is that of the agent",
            roll_back,
        )
        .example(json!({"version": 1})),
        get(
            View,
            "/agents/{agent}/prompt",
            "previewPrompt",
            "Show the system prompt of an agent in a new conversation",
            prompt,
        ),
        post(
            View,
            "/agents/{agent}/prompt",
            "previewPromptOf",
            "Show the system prompt that an agent would have with another soul",
            prompt_of,
        )
        .example(json!({"soul": {"personality": "Warm and quick."}}))
        .runs_again(),
    ]
}

async fn versions(request: OrgRequest, PathId(agent): PathId) -> Result<Json<SoulVersions>> {
    let items = request.of_named_agent(request.operations().soul_versions(&agent).await)?;
    Ok(Json(SoulVersions { items }))
}

async fn roll_back(
    request: OrgRequest,
    PathId(agent): PathId,
    based_on: IfMatch,
    JsonBody(body): JsonBody<RollbackRequest>,
) -> Result<Json<SoulVersion>> {
    let _turn = based_on.turn(request.server()).await;
    based_on.check_current(current::<AgentDefinition>(&request, &agent)).await?;
    let restored = request.operations().roll_back_soul(&agent, body.version).await;
    Ok(Json(request.of_named_agent(restored)?))
}

async fn prompt(request: OrgRequest, PathId(agent): PathId) -> Result<Json<PromptPreview>> {
    let prompt = request.operations().preview_prompt(&agent, None).await;
    Ok(Json(PromptPreview { prompt: request.of_named_agent(prompt)? }))
}

async fn prompt_of(
    request: OrgRequest,
    PathId(agent): PathId,
    JsonBody(body): JsonBody<PromptRequest>,
) -> Result<Json<PromptPreview>> {
    let prompt = request.operations().preview_prompt(&agent, Some(&body.soul)).await;
    Ok(Json(PromptPreview { prompt: request.of_named_agent(prompt)? }))
}
