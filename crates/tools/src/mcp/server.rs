//! One server and its supervisor, which starts it, lists its tools, restarts it after a
//! failure, and gives up after too many failures.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::tool::mcp::McpServerName;
use ostler_engine::tool::Tool;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

use super::config::McpServerConfig;
use super::error::{McpProblem, McpServerError};
use super::listing::{self, SkippedTool};
use super::tool::McpTool;
use super::wire::{McpClient, McpConnection};

/// A server, shared by its tools and its supervisor.
pub(super) struct McpServer {
    config: McpServerConfig,
    state: Mutex<ServerState>,
    /// Increases with every change of the tools or problems of any server.
    version: watch::Sender<u64>,
    /// Whether the first attempt to start is over.
    first_attempt_over: watch::Sender<bool>,
}

/// The current state of a server.
struct ServerState {
    connection: ConnectionState,
    tools: Vec<Arc<dyn Tool>>,
    skipped: Vec<SkippedTool>,
    error: Option<McpServerError>,
}

/// Whether a server can be called.
enum ConnectionState {
    Starting,
    Connected(McpClient),
    /// Waiting for the next restart.
    Restarting,
    /// Failed too often; it is not restarted.
    Failed,
    Stopped,
}

/// How a run of a server ended.
enum RunEnd {
    Failed(McpServerError),
    /// By request.
    Stopped,
}

impl McpServer {
    pub(super) fn new(config: McpServerConfig, version: watch::Sender<u64>) -> Self {
        let state = ServerState {
            connection: ConnectionState::Starting,
            tools: Vec::new(),
            skipped: Vec::new(),
            error: None,
        };
        let first_attempt_over = watch::Sender::new(false);
        Self { config, state: Mutex::new(state), version, first_attempt_over }
    }

    pub(super) const fn name(&self) -> &McpServerName {
        &self.config.name
    }

    pub(super) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.state().tools.clone()
    }

    /// Returns the problems of the server and of its tools.
    pub(super) fn problems(&self) -> Vec<McpProblem> {
        let state = self.state();
        let server = || self.config.name.clone();
        let own = state.error.iter().map(|error| McpProblem {
            server: server(),
            tool: None,
            error: error.clone(),
        });
        let of_tools = state.skipped.iter().map(|skipped| McpProblem {
            server: server(),
            tool: skipped.tool.clone(),
            error: skipped.error.clone(),
        });
        own.chain(of_tools).collect()
    }

    /// Returns whether the first attempt to start is not over yet.
    pub(super) fn is_starting(&self) -> bool {
        !*self.first_attempt_over.borrow()
    }

    /// Returns a text with the secrets of the server redacted.
    pub(super) fn redact(&self, text: String) -> String {
        self.config.redact(text)
    }

    /// Waits until the first attempt to start is over.
    pub(super) async fn wait_first_attempt(&self) {
        // The sender is in `self`, so the channel cannot close.
        let _ = self.first_attempt_over.subscribe().wait_for(|over| *over).await;
    }

    /// Returns the client for its tools. Fails with a text for the model while the server
    /// is not connected.
    pub(super) fn client(&self) -> Result<McpClient, String> {
        let name = self.name();
        match &self.state().connection {
            ConnectionState::Connected(client) => Ok(client.clone()),
            ConnectionState::Starting | ConnectionState::Restarting => Err(format!(
                "The MCP server {name} is being restarted. Try it later, or continue without it."
            )),
            ConnectionState::Failed => Err(format!(
                "The MCP server {name} has failed too often and is not available. Continue without \
                 it."
            )),
            ConnectionState::Stopped => Err(format!("The MCP server {name} was stopped.")),
        }
    }

    /// Keeps the server running until `stop` becomes true or it has failed too often.
    pub(super) async fn supervise(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let limits = &self.config.limits;
        let mut failures = 0;
        loop {
            let started_at = Instant::now();
            let end = self.run_once(&mut stop).await;
            let RunEnd::Failed(error) = end else { break };
            if started_at.elapsed() >= limits.healthy_after {
                failures = 0;
            }
            failures += 1;
            if failures > limits.max_restarts {
                self.give_up(failures, error);
                return;
            }
            self.update(|state| {
                state.connection = ConnectionState::Restarting;
                state.error = Some(error);
            });
            self.first_attempt_over.send_replace(true);
            tokio::select! {
                () = sleep(limits.backoff_after(failures)) => {}
                () = stop_requested(&mut stop) => break,
            }
        }
        self.update(|state| {
            (state.connection, state.error) = (ConnectionState::Stopped, None);
            state.tools.clear();
        });
        self.first_attempt_over.send_replace(true);
    }

    /// Starts the server and runs it until it fails or is stopped.
    async fn run_once(self: &Arc<Self>, stop: &mut watch::Receiver<bool>) -> RunEnd {
        let opened = tokio::select! {
            opened = McpConnection::open(&self.config) => opened,
            () = stop_requested(stop) => return RunEnd::Stopped,
        };
        let mut connection = match opened {
            Ok(connection) => connection,
            Err(error) => return RunEnd::Failed(error),
        };
        let (client, tools_changed) = (connection.client(), connection.tools_changed());
        let listed = tokio::select! {
            listed = self.refresh_tools(&client) => listed,
            () = stop_requested(stop) => {
                connection.close().await;
                return RunEnd::Stopped;
            }
        };
        if let Err(error) = listed {
            connection.close().await;
            return RunEnd::Failed(error);
        }
        self.update(|state| {
            state.connection = ConnectionState::Connected(client.clone());
            state.error = None;
        });
        self.first_attempt_over.send_replace(true);
        tokio::select! {
            () = connection.wait_closed() => {}
            () = stop_requested(stop) => {
                self.update(|state| state.connection = ConnectionState::Stopped);
                connection.close().await;
                return RunEnd::Stopped;
            }
            never = self.refresh_on_change(&client, &tools_changed) => match never {},
        }
        self.update(|state| state.connection = ConnectionState::Restarting);
        RunEnd::Failed(connection.into_closed_error().await)
    }

    /// Lists the tools again whenever the server says that they have changed, at most
    /// once per `min_relist_interval`.
    async fn refresh_on_change(
        self: &Arc<Self>,
        client: &McpClient,
        changed: &Notify,
    ) -> Infallible {
        loop {
            changed.notified().await;
            let listed = self.refresh_tools(client).await;
            self.update(|state| state.error = listed.err());
            sleep(self.config.limits.min_relist_interval).await;
        }
    }

    /// Lists the tools and replaces the known ones.
    async fn refresh_tools(self: &Arc<Self>, client: &McpClient) -> Result<(), McpServerError> {
        let list = client.list_tools(&self.config.limits).await?;
        let listing = listing::convert(list.tools, list.has_more, &self.config);
        let tool = |remote| Arc::new(McpTool::new(self.clone(), remote)) as Arc<dyn Tool>;
        let tools = listing.tools.into_iter().map(tool).collect();
        self.update(|state| (state.tools, state.skipped) = (tools, listing.skipped));
        Ok(())
    }

    fn give_up(&self, failures: u32, last: McpServerError) {
        self.update(|state| {
            state.connection = ConnectionState::Failed;
            state.tools.clear();
            state.skipped.clear();
            state.error = Some(McpServerError::TooManyFailures { failures, last: Box::new(last) });
        });
        self.first_attempt_over.send_replace(true);
    }

    fn update(&self, change: impl FnOnce(&mut ServerState)) {
        change(&mut self.state());
        self.version.send_modify(|version| *version += 1);
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a request to stop. A dropped sender counts as one.
async fn stop_requested(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
