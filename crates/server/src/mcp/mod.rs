//! The MCP server: agents, sessions and approvals as tools for clients of the Model Context
//! Protocol, over streamable HTTP.
//!
//! It keeps no sessions: every request stands for itself, with its key, so any process can
//! answer it and nothing is left over. Which tools a caller has follows from its role and its
//! scopes, and the operations check again. The protocol itself is `rmcp`'s.

mod calls;
mod origin;
mod tools;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use ostler_domain::org::permission::OrgPermission;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ContentBlock, Implementation, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::body::MAX_BYTES;
use crate::caller::Caller;
use crate::route::describe::schema_of;
use crate::route::{Access, Protocol, Route, post};
use crate::server::Server;
use calls::ToolCaller;
use tools::{McpTool, TOOLS};

const INSTRUCTIONS: &str = "Agents of an organization, their conversations and the calls that \
    wait for a person. `ask_agent` talks to an agent; approve a call only if a person has said \
    so.";

pub(crate) fn routes() -> Vec<Route> {
    let example = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    vec![
        post(
            Access::Caller,
            "/mcp",
            "callMcp",
            "Send a message of the Model Context Protocol (streamable HTTP)",
            serve,
        )
        .takes(schema_of::<McpMessage>)
        .example(example)
        .returns(schema_of::<McpMessage>)
        .or_streams()
        .speaks(Protocol::Mcp)
        .at_root(),
    ]
}

/// A message of JSON-RPC 2.0, as the Model Context Protocol defines it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct McpMessage {
    /// `2.0`.
    jsonrpc: String,
    #[serde(default)]
    id: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Value,
}

async fn serve(State(server): State<Server>, request: Request) -> Response {
    let public_url = server.deps.public_url.as_deref();
    if let Err(error) = origin::check(request.headers(), public_url) {
        return error.into_response();
    }
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_max_request_body_bytes(MAX_BYTES)
        // Checked above.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let handler = move || Ok(McpHandler { server: server.clone() });
    let service =
        StreamableHttpService::new(handler, Arc::new(NeverSessionManager::default()), config);
    service.handle(request).await.map(Body::new)
}

/// Answers the requests of one HTTP request.
#[derive(Debug)]
struct McpHandler {
    server: Server,
}

impl McpHandler {
    /// Returns who makes a request.
    fn caller(context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get::<Caller>()).cloned();
        caller.ok_or_else(|| ErrorData::internal_error("a request without authentication", None))
    }

    /// Returns whether a caller has a tool: by its role in one of its orgs, and its scopes.
    async fn has(&self, caller: &Caller, tool: &McpTool) -> bool {
        if let Caller::Key { key, .. } = caller {
            let (resource, access) = tool.scope;
            if !key.scopes.cover(resource, access) {
                return false;
            }
        }
        for org in caller.orgs() {
            if self.permits(caller, org, tool.permission).await {
                return true;
            }
        }
        false
    }

    async fn permits(
        &self,
        caller: &Caller,
        org: ostler_domain::id::OrgId,
        permission: OrgPermission,
    ) -> bool {
        let operations = self.server.deps.operations.as_actor(caller.actor(), org);
        operations.check(permission).await.is_ok()
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new("ostler", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation.with_title("Ostler"))
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        McpTool::named(name).map(McpTool::definition)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = Self::caller(&context)?;
        let mut offered = Vec::new();
        for tool in &TOOLS {
            if self.has(&caller, tool).await {
                offered.push(tool.definition());
            }
        }
        // Others have other tools.
        Ok(ListToolsResult::with_all_items(offered).with_cache_scope(CacheScope::Private))
    }

    // The library answers these with empty lists. What is not offered does not exist.

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = Self::caller(&context)?;
        let unknown = || {
            let message = format!("there is no tool `{}` for this caller", request.name);
            ErrorData::invalid_params(message, None)
        };
        let tool = McpTool::named(&request.name).ok_or_else(unknown)?;
        if !self.has(&caller, tool).await {
            return Err(unknown());
        }
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let tools = ToolCaller { server: &self.server, caller: &caller };
        let result = tokio::select! {
            result = tools.dispatch(tool.name, arguments) => result,
            // The client does not want the result any more.
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the request was cancelled", None));
            }
        };
        let result = match result {
            Ok(value) => CallToolResult::structured(value),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.0.detail)]),
        };
        Ok(result.into())
    }
}
