//! The MCP servers that a client names for a session.

use std::path::Path;

use agent_client_protocol::Result;
use agent_client_protocol::v1::schema::McpServer;
use ostler_domain::tool::SecretText;
use ostler_tools::mcp::{McpHttpServer, McpServerConfig, McpStdioServer, McpTransport};

use super::connection::refused;
use crate::commands::local_agent::tools::short_name;

/// Returns the configuration of a server.
pub(super) fn config(server: McpServer, root: &Path) -> Result<McpServerConfig> {
    let (name, transport) = match server {
        McpServer::Stdio(server) => {
            let mut program =
                McpStdioServer::new(server.command.display().to_string(), server.args);
            program.working_dir = Some(root.to_owned());
            let variables = server.env.into_iter();
            program.env = variables.map(|one| (one.name, SecretText::Plain(one.value))).collect();
            (server.name, McpTransport::Stdio(program))
        }
        McpServer::Http(server) => {
            let mut remote = McpHttpServer::new(server.url);
            let headers = server.headers.into_iter();
            remote.headers = headers.map(|one| (one.name, SecretText::Plain(one.value))).collect();
            (server.name, McpTransport::Http(remote))
        }
        _ => return Err(refused("MCP servers are reached over stdio or HTTP here")),
    };
    let name = short_name(&name).parse().map_err(refused)?;
    Ok(McpServerConfig::new(name, transport))
}
