//! The tools that an org has defined: HTTP tools and MCP servers.

use super::http::HttpTool;
use super::mcp::McpServer;
use super::{ToolName, ToolProblem};
use crate::identity_check::IdentityCheck;

/// The most HTTP tools and MCP servers of an org, together.
pub const MAX_ORG_TOOLS: usize = 100;

/// An HTTP tool or an MCP server of an org.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrgTool {
    Http(HttpTool),
    Mcp(McpServer),
}

/// The kind of an [`OrgTool`]. Names are unique within a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrgToolKind {
    Http,
    Mcp,
}

impl OrgToolKind {
    /// Returns the name as stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Mcp => "mcp",
        }
    }

    /// Returns the words for it in a sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Http => "HTTP tool",
            Self::Mcp => "MCP server",
        }
    }
}

impl OrgTool {
    /// Returns its kind.
    pub const fn kind(&self) -> OrgToolKind {
        match self {
            Self::Http(_) => OrgToolKind::Http,
            Self::Mcp(_) => OrgToolKind::Mcp,
        }
    }

    /// Returns the name of the tool or the server.
    pub fn name(&self) -> &str {
        match self {
            Self::Http(tool) => tool.name.as_str(),
            Self::Mcp(server) => server.name.as_str(),
        }
    }

    /// Returns every mistake of the definition.
    pub fn check(&self) -> Vec<ToolProblem> {
        match self {
            Self::Http(tool) => tool.check(),
            Self::Mcp(server) => server.check(),
        }
    }
}

/// All that an org has defined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrgToolDefinitions {
    pub http: Vec<HttpTool>,
    pub mcp: Vec<McpServer>,
    /// The tool that makes refunds, from the org's settings.
    pub payment_provider: Option<ToolName>,
    /// How customers prove who they are, from the org's settings.
    pub identity_check: Option<IdentityCheck>,
}

impl OrgToolDefinitions {
    /// Returns whether there is nothing.
    pub const fn is_empty(&self) -> bool {
        self.http.is_empty()
            && self.mcp.is_empty()
            && self.payment_provider.is_none()
            && self.identity_check.is_none()
    }
}

impl FromIterator<OrgTool> for OrgToolDefinitions {
    fn from_iter<T: IntoIterator<Item = OrgTool>>(tools: T) -> Self {
        let mut all = Self::default();
        for tool in tools {
            match tool {
                OrgTool::Http(tool) => all.http.push(tool),
                OrgTool::Mcp(server) => all.mcp.push(server),
            }
        }
        all
    }
}
