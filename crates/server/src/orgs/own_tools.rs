//! Routes for the HTTP tools and MCP servers that an organization has defined: adding whole
//! definitions, and trying what they do.

use std::time::Instant;

use axum::Json;
use ostler_api::page::Page;
use ostler_api::problem::ProblemCode;
use ostler_api::tool::{
    CatalogueTool, DefinedTool, DefinedToolKind, DefinitionChange, McpServerTest, SavedDefinition,
    ToolTestRequest, ToolTestResult,
};
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use ostler_domain::tool::http::HttpTool;
use ostler_domain::tool::mcp::McpServer;
use ostler_domain::tool::org_tools::{OrgTool, OrgToolKind};
use ostler_runtime::operations::ToolChange;
use ostler_runtime::operations::definitions::{HttpToolDefinition, McpServerDefinition, Spec as _};
use ostler_runtime::toolbox::TestedMcpServer;
use ostler_store::StoredOrgTool;
use serde_json::{Value, json};

use super::tagged::IfMatch;
use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::route::{Route, get, post, put};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/tool-definitions",
            "listToolDefinitions",
            "List the definitions of HTTP tools and MCP servers, with the time of their last \
             change",
            list,
        ),
        put(
            Configure,
            "/tools/{tool}",
            "saveHttpTool",
            "Add an HTTP tool, or replace the whole definition of that name",
            save_http_tool,
        )
        .example(
            json!({"name": "find_order", "description": "Finds an order by its number.",
            "url": "https://shop.example/orders/{number}", "risk": "read",
            "input": {"type": "object", "properties": {"number": {"type": "string"}},
                "required": ["number"]}}),
        ),
        post(
            Configure,
            "/tools/{tool}/test",
            "testTool",
            "Call a tool that the organization has defined, for real, and show what happens",
            test_tool,
        )
        .example(json!({"arguments": {"number": "1001"}})),
        put(
            Configure,
            "/mcp-servers/{server}",
            "saveMcpServer",
            "Add an MCP server, or replace the whole definition of that name",
            save_mcp_server,
        )
        .example(json!({"name": "shop", "url": "https://shop.example/mcp"})),
        post(
            Configure,
            "/mcp-servers/{server}/test",
            "testMcpServer",
            "Reach or start an MCP server, apart from the agents, and list its tools",
            test_mcp_server,
        ),
    ]
}

async fn list(request: OrgRequest) -> Result<Json<Page<DefinedTool>>> {
    let found = request.hide_foreign_org(request.operations().own_tools().await)?;
    Ok(Json(Page { items: found.into_iter().map(wire).collect(), next: None }))
}

async fn save_http_tool(
    request: OrgRequest,
    PathId(name): PathId,
    based_on: IfMatch,
    JsonBody(tool): JsonBody<HttpTool>,
) -> Result<Json<SavedDefinition>> {
    save(&request, &name, &based_on, OrgTool::Http(tool)).await
}

async fn save_mcp_server(
    request: OrgRequest,
    PathId(name): PathId,
    based_on: IfMatch,
    JsonBody(server): JsonBody<McpServer>,
) -> Result<Json<SavedDefinition>> {
    save(&request, &name, &based_on, OrgTool::Mcp(server)).await
}

async fn save(
    request: &OrgRequest,
    name: &str,
    based_on: &IfMatch,
    tool: OrgTool,
) -> Result<Json<SavedDefinition>> {
    if tool.name() != name {
        let detail = format!("the definition is called `{}`, the path names `{name}`", tool.name());
        return Err(ApiError::new(ProblemCode::Invalid, detail));
    }
    let _turn = based_on.turn(&request.server).await;
    if based_on.version().is_some() {
        let kind = match tool.kind() {
            OrgToolKind::Http => HttpToolDefinition::KIND,
            OrgToolKind::Mcp => McpServerDefinition::KIND,
        };
        let before = request.operations().resource(kind, name).await;
        based_on.check(&request.hide_foreign_org(before)?)?;
    }
    let saved = request.operations().save_checked_tool(tool, request.host()).await;
    let (change, notes) = request.hide_foreign_org(saved)?;
    let change = match change {
        ToolChange::Added => DefinitionChange::Added,
        ToolChange::Replaced => DefinitionChange::Replaced,
        ToolChange::Unchanged => DefinitionChange::Unchanged,
    };
    Ok(Json(SavedDefinition { name: name.to_owned(), change, notes }))
}

async fn test_tool(
    request: OrgRequest,
    PathId(name): PathId,
    JsonBody(ToolTestRequest { arguments }): JsonBody<ToolTestRequest>,
) -> Result<Json<ToolTestResult>> {
    let started = Instant::now();
    let tested = request.operations().test_tool(&name, &arguments).await;
    let outcome = request.hide_foreign_org(tested)?;
    let status = json!(outcome.status).as_str().unwrap_or_default().to_owned();
    let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Json(ToolTestResult { status, content: outcome.content, millis }))
}

async fn test_mcp_server(request: OrgRequest, PathId(name): PathId) -> Result<Json<McpServerTest>> {
    let tested = request.operations().test_mcp_server(&name).await;
    let TestedMcpServer { tools, problems } = request.hide_foreign_org(tested)?;
    let tools = tools.into_iter().map(|tool| CatalogueTool {
        spec: tool.spec,
        description: tool.description,
        arguments: tool.schema,
        not_connected: Vec::new(),
    });
    Ok(Json(McpServerTest { tools: tools.collect(), problems }))
}

fn wire(stored: StoredOrgTool) -> DefinedTool {
    let StoredOrgTool { tool, saved_at } = stored;
    let name = tool.name().to_owned();
    let (kind, definition): (_, Value) = match tool {
        OrgTool::Http(tool) => (DefinedToolKind::HttpTool, json!(tool)),
        OrgTool::Mcp(server) => (DefinedToolKind::McpServer, json!(server)),
    };
    DefinedTool { kind, name, definition, saved_at }
}
