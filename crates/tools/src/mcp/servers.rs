//! The MCP servers of an installation or a run.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ostler_domain::tool::mcp::McpServerName;
use ostler_engine::tool::Tool;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::config::McpServerConfig;
use super::error::{McpProblem, McpServerError};
use super::server::McpServer;

/// The time limit to stop all servers.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// A set of supervised MCP servers. Dropping it stops them without waiting.
pub struct McpServers {
    servers: Vec<Arc<McpServer>>,
    not_started: Vec<McpProblem>,
    version: watch::Sender<u64>,
    stop: watch::Sender<bool>,
    supervisors: JoinSet<()>,
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.servers.iter().map(|server| server.name())).finish()
    }
}

impl McpServers {
    /// Starts servers without waiting for them. Must be called inside a Tokio runtime.
    pub fn start(configs: Vec<McpServerConfig>) -> Self {
        let (version, stop) = (watch::Sender::new(0), watch::Sender::new(false));
        let mut all = Self {
            servers: Vec::new(),
            not_started: Vec::new(),
            version,
            stop,
            supervisors: JoinSet::new(),
        };
        let mut names = BTreeSet::new();
        for config in configs {
            if !names.insert(config.name.clone()) {
                let problem = McpProblem {
                    server: config.name,
                    tool: None,
                    error: McpServerError::DuplicateName,
                };
                all.not_started.push(problem);
                continue;
            }
            let server = Arc::new(McpServer::new(config, all.version.clone()));
            all.supervisors.spawn(server.clone().supervise(all.stop.subscribe()));
            all.servers.push(server);
        }
        all
    }

    /// Waits until every server is connected or has failed to start once, at most the
    /// longest `start_timeout`.
    pub async fn ready(&self) {
        for server in &self.servers {
            server.wait_first_attempt().await;
        }
    }

    /// Returns the names of the servers whose first attempt to start is not over yet.
    pub fn starting(&self) -> Vec<&McpServerName> {
        let starting = self.servers.iter().filter(|server| server.is_starting());
        starting.map(|server| server.name()).collect()
    }

    /// Returns the current tools. A server that restarts keeps its tools; one that failed
    /// too often has none.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.iter().flat_map(|server| server.tools()).collect()
    }

    /// Returns a counter that increases whenever tools or problems may have changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Returns the current problems: servers that do not run, and skipped tools.
    pub fn problems(&self) -> Vec<McpProblem> {
        let running = self.servers.iter().flat_map(|server| server.problems());
        self.not_started.iter().cloned().chain(running).collect()
    }

    /// Stops all servers and waits for them, up to a time limit.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        let all = async { while self.supervisors.join_next().await.is_some() {} };
        let _ = timeout(STOP_TIMEOUT, all).await;
    }
}
