//! HTTP tools and MCP servers of an org.

use ostler_domain::tool::http::HttpTool;
use ostler_domain::tool::mcp::McpServer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An HTTP tool of an organization; see docs/TOOLS.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HttpToolDefinition {
    /// Its organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    #[serde(flatten)]
    pub tool: HttpTool,
}

/// An MCP server whose tools the agents of an organization use; see docs/TOOLS.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerDefinition {
    /// Its organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    #[serde(flatten)]
    pub server: McpServer,
}
