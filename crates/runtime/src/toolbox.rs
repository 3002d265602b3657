//! The tools that agents can have: those of every org, and a source of the tools that an org
//! has defined itself.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::id::OrgId;
use ostler_domain::tool::mcp::McpServer;
use ostler_domain::tool::org_tools::OrgToolDefinitions;
use ostler_engine::tool::{OrgToolList, ToolDefinition, ToolSet};

/// Returns the tools that an org has defined, the same list until something changes.
pub type OrgToolSource = Arc<
    dyn Fn(OrgId, Arc<OrgToolDefinitions>) -> BoxFuture<'static, Arc<OrgToolList>> + Send + Sync,
>;

/// Starts or reaches an MCP server of an org apart from its agents, and stops it again.
pub type McpServerTester =
    Arc<dyn Fn(OrgId, McpServer) -> BoxFuture<'static, TestedMcpServer> + Send + Sync>;

/// What an MCP server answered.
#[derive(Debug, Clone, Default)]
pub struct TestedMcpServer {
    pub tools: Vec<ToolDefinition>,
    /// What keeps its tools from being used, in sentences.
    pub problems: Vec<String>,
}

/// The tools that agents can have: those of every org, and a source of the tools that an org
/// has defined itself.
#[derive(Clone)]
pub struct Toolbox {
    pub built_in: Arc<ToolSet>,
    org_tools: Option<OrgToolSource>,
    mcp_tester: Option<McpServerTester>,
}

impl Toolbox {
    /// Creates a toolbox in which orgs have no tools of their own.
    pub const fn new(built_in: Arc<ToolSet>) -> Self {
        Self { built_in, org_tools: None, mcp_tester: None }
    }

    /// Adds the tools that orgs have defined.
    #[must_use]
    pub fn with_org_tools(self, source: OrgToolSource) -> Self {
        Self { org_tools: Some(source), ..self }
    }

    /// Adds how MCP servers are tested.
    #[must_use]
    pub fn with_mcp_tester(self, tester: McpServerTester) -> Self {
        Self { mcp_tester: Some(tester), ..self }
    }

    /// Starts or reaches an MCP server of an org and returns what it answered.
    pub(crate) async fn test_mcp_server(&self, org: OrgId, server: McpServer) -> TestedMcpServer {
        match &self.mcp_tester {
            Some(tester) => tester(org, server).await,
            None => TestedMcpServer::default(),
        }
    }

    /// Returns the tools that an org has defined.
    pub(crate) async fn org_tools(
        &self,
        org: OrgId,
        definitions: &Arc<OrgToolDefinitions>,
    ) -> Arc<OrgToolList> {
        match &self.org_tools {
            Some(source) => source(org, definitions.clone()).await,
            None => Arc::default(),
        }
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.built_in.fmt(f)
    }
}
