//! The configuration of an MCP server of an org.

use std::time::Duration;

use ostler_domain::tool::mcp::McpServer;
use ostler_engine::secret::SecretScope;

use crate::mcp::{
    AnnotationTrust, McpHttpServer, McpLimits, McpServerConfig, McpStdioServer, McpTransport,
};
use crate::web::FetchPolicy;

/// The time limit to start a server and to list its tools.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest delay between two attempts to start a server. It is tried as long as the
/// process uses it.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// Returns the configuration of a server, with access to the secrets of its org only.
pub(super) fn config(
    server: &McpServer,
    secrets: SecretScope,
    network: &FetchPolicy,
) -> McpServerConfig {
    let transport = match &server.url {
        Some(url) => McpTransport::Http(McpHttpServer {
            url: url.clone(),
            headers: server.headers.clone(),
            network: network.clone(),
        }),
        None => McpTransport::Stdio(McpStdioServer {
            env: server.env.clone(),
            ..McpStdioServer::new(server.command.clone().unwrap_or_default(), server.args.clone())
        }),
    };
    McpServerConfig {
        annotation_trust: if server.trust_annotations {
            AnnotationTrust::Trusted
        } else {
            AnnotationTrust::Untrusted
        },
        tools: server.tools.clone(),
        risk: server.risk.clone(),
        audience: server.audience,
        price: server.price.unwrap_or(1).into(),
        secrets,
        limits: McpLimits {
            start_timeout: START_TIMEOUT,
            call_timeout: Duration::from_secs(server.timeout_secs.into()),
            max_restarts: u32::MAX,
            max_backoff: MAX_BACKOFF,
            ..McpLimits::default()
        },
        ..McpServerConfig::new(server.name.clone(), transport)
    }
}
