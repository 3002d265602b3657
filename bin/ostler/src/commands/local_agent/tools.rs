//! The tools of a local agent: the web, and those of MCP servers.

use std::sync::Arc;

use anyhow::Context as _;
use ostler_domain::tool::mcp::McpServerName;
use ostler_engine::tool::Tool;
use ostler_tools::mcp::{McpHttpServer, McpServerConfig, McpServers, McpStdioServer, McpTransport};
use ostler_tools::web::Fetcher;

use super::LocalAgentArgs;
use crate::screen::DIM;

/// Starts the MCP servers of the arguments and these. Fails if one of them cannot be used.
pub(in crate::commands) async fn start_mcp_servers(
    args: &LocalAgentArgs,
    mut configs: Vec<McpServerConfig>,
) -> anyhow::Result<Option<McpServers>> {
    for text in &args.mcp {
        configs.push(parse_server(text)?);
    }
    if configs.is_empty() {
        return Ok(None);
    }
    let servers = McpServers::start(configs);
    servers.ready().await;
    for problem in servers.problems() {
        // A tool that cannot be offered leaves the others.
        anyhow::ensure!(problem.tool.is_some(), "{problem}");
        anstream::eprintln!("{DIM}{problem}{DIM:#}");
    }
    Ok(Some(servers))
}

/// Parses `--mcp`: a URL or a command line, with an optional `NAME=` before it.
fn parse_server(text: &str) -> anyhow::Result<McpServerConfig> {
    let (name, text) = split_name(text);
    let mut words = text.split_whitespace().map(str::to_owned);
    let first = words.next().context("--mcp needs a command or a URL")?;
    let is_url = first.starts_with("http://") || first.starts_with("https://");
    // The last word that is not an option names the server: `npx -y server-everything`.
    let last = text.split_whitespace().rfind(|word| !word.starts_with('-')).unwrap_or(&first);
    let name = name.map_or_else(|| short_name(last), str::to_owned);
    let transport = if is_url {
        McpTransport::Http(McpHttpServer::new(first.clone()))
    } else {
        McpTransport::Stdio(McpStdioServer::new(first.clone(), words))
    };
    Ok(McpServerConfig::new(name.parse::<McpServerName>()?, transport))
}

/// Splits `NAME=COMMAND`. Variables and URLs that contain `=` are not names.
fn split_name(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    match text.split_once('=') {
        Some((name, rest)) if is_name(name) => (Some(name), rest),
        _ => (None, text),
    }
}

/// Returns the last part of a path or URL, in the form of a server name.
pub(in crate::commands) fn short_name(text: &str) -> String {
    let end = text.trim_end_matches('/').rsplit(['/', '\\', ':']).next().unwrap_or(text);
    let stem = end.split('.').next().unwrap_or(end);
    let name: String =
        stem.to_lowercase().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let name: String = name.trim_matches('-').chars().take(20).collect();
    if name.is_empty() { "server".into() } else { name }
}

/// Returns the tools of the agent.
pub(in crate::commands) fn load(
    args: &LocalAgentArgs,
    servers: Option<&McpServers>,
) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
    let mut tools = if args.no_web {
        Vec::new()
    } else {
        ostler_tools::catalogue::web_tools(&Fetcher::public()?)
    };
    tools.extend(servers.into_iter().flat_map(McpServers::tools));
    Ok(tools)
}

#[cfg(test)]
mod tests {
    use super::{short_name, split_name};

    #[test]
    fn a_name_before_the_command_names_the_server() {
        assert_eq!(split_name("files=npx server"), (Some("files"), "npx server"));
        assert_eq!(split_name("npx server --a=b"), (None, "npx server --a=b"));
        assert_eq!(split_name("https://x.example/?a=b"), (None, "https://x.example/?a=b"));
    }

    #[test]
    fn the_program_names_the_server_by_default() {
        let check = |text, expected: &str| assert_eq!(short_name(text), expected, "{text}");
        check("@modelcontextprotocol/server-everything", "server-everything");
        check("/usr/bin/my_server.py", "myserver");
        check("https://mcp.example.com/", "mcp");
        check("https://mcp.example.com/v1", "v1");
        check("???", "server");
    }
}
