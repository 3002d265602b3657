//! All MCP servers of an installation or a run.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ostler_engine::tool::Tool;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::config::McpServerConfig;
use super::problem::{Problem, Trouble};
use super::server::Server;

/// The longest that all of them may take to stop.
const STOPPING: Duration = Duration::from_secs(15);

/// MCP servers that are kept running. Dropping it stops them as well, without
/// waiting for them.
pub struct McpServers {
    servers: Vec<Arc<Server>>,
    not_started: Vec<Problem>,
    version: watch::Sender<u64>,
    stop: watch::Sender<bool>,
    keepers: JoinSet<()>,
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.servers.iter().map(|server| server.name())).finish()
    }
}

impl McpServers {
    /// Starts servers, without waiting for them. It must be called inside a Tokio
    /// runtime.
    pub fn start(configs: Vec<McpServerConfig>) -> Self {
        let (version, stop) = (watch::Sender::new(0), watch::Sender::new(false));
        let mut all = Self {
            servers: Vec::new(),
            not_started: Vec::new(),
            version,
            stop,
            keepers: JoinSet::new(),
        };
        let mut names = BTreeSet::new();
        for config in configs {
            if !names.insert(config.name.clone()) {
                let problem =
                    Problem { server: config.name, tool: None, trouble: Trouble::SameName };
                all.not_started.push(problem);
                continue;
            }
            let server = Arc::new(Server::new(config, all.version.clone()));
            all.keepers.spawn(server.clone().keep(all.stop.subscribe()));
            all.servers.push(server);
        }
        all
    }

    /// Waits until every server is up or has failed to start once. That takes as
    /// long as the slowest may take to start.
    pub async fn ready(&self) {
        for server in &self.servers {
            server.tried().await;
        }
    }

    /// The tools that there are now. Those of a server that is being started again
    /// stay; those of one that was given up are gone.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.iter().flat_map(|server| server.tools()).collect()
    }

    /// A number that rises whenever the tools or the problems may have changed.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// What is wrong now: servers that do not run, and tools that were left out.
    pub fn problems(&self) -> Vec<Problem> {
        let running = self.servers.iter().flat_map(|server| server.problems());
        self.not_started.iter().cloned().chain(running).collect()
    }

    /// Stops all servers, and waits until they have ended.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        let all = async { while self.keepers.join_next().await.is_some() {} };
        let _ = timeout(STOPPING, all).await;
    }
}
