//! Routes for the tools that agents can have.

use axum::extract::State;
use axum::{Extension, Json};
use ostler_api::page::Page;
use ostler_api::run::MissingTool;
use ostler_api::tool::{CatalogueTool, ToolCatalogue};
use ostler_domain::org::permission::OrgPermission::View;
use ostler_runtime::operations;

use super::OrgRequest;
use crate::caller::Caller;
use crate::error::Result;
use crate::route::{Access, Route, get};
use crate::server::Server;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            Access::Caller,
            "/tools",
            "listBuiltInTools",
            "List the tools that agents of every organization can have",
            built_in,
        ),
        get(
            View,
            "/tool-catalogue",
            "listAgentTools",
            "List the tools that the organization's agents can have, with its own tools and the \
             services that are not connected",
            of_org,
        ),
    ]
}

async fn built_in(
    State(server): State<Server>,
    Extension(_): Extension<Caller>,
) -> Json<Page<CatalogueTool>> {
    let tools = server.deps.operations.built_in_tools().into_iter();
    Json(Page { items: tools.map(entry).collect(), next: None })
}

async fn of_org(request: OrgRequest) -> Result<Json<ToolCatalogue>> {
    let (tools, unavailable) =
        request.hide_foreign_org(request.operations().tool_catalogue().await)?;
    let unavailable = unavailable.into_iter();
    let unavailable = unavailable.map(|one| MissingTool { name: one.name, reason: one.reason });
    Ok(Json(ToolCatalogue {
        tools: tools.into_iter().map(entry).collect(),
        unavailable: unavailable.collect(),
    }))
}

fn entry(tool: operations::CatalogueTool) -> CatalogueTool {
    let operations::CatalogueTool { spec, description, arguments, not_connected } = tool;
    CatalogueTool { spec, description, arguments, not_connected }
}
