//! The MCP protocol, and the only module that uses the `rmcp` library.
//!
//! The supervisor of a server holds an [`McpConnection`], its tools an [`McpClient`].
//! Nothing here decides what a tool may do or when a server is restarted.

mod bounded_lines;
mod call_result;
mod client;
mod http;
mod process;
mod response;
mod task_tools;
mod tool_list;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_engine::secret::SecretScope;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{
    ClientInitializeError, NotificationContext, RoleClient, RunningService,
    RunningServiceCancellationToken,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, ServiceExt};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

pub(super) use client::{McpCallError, McpCallResult, McpClient};

use super::config::{McpHttpServer, McpLimits, McpServerConfig, McpStdioServer, McpTransport};
use super::error::McpServerError;
use process::{Process, StderrTail};
use task_tools::TaskTools;

/// The time limit to end the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(8);

/// A connection to a server that is initialized.
pub(super) struct McpConnection {
    client: McpClient,
    tools_changed: Arc<Notify>,
    closed: BoxFuture<'static, ()>,
    stop: RunningServiceCancellationToken,
    process: Option<Process>,
    shutdown_grace: Duration,
}

impl McpConnection {
    /// Starts or connects to a server and initializes the session.
    pub(super) async fn open(config: &McpServerConfig) -> Result<Self, McpServerError> {
        match &config.transport {
            McpTransport::Stdio(server) => {
                Self::open_stdio(server, &config.secrets, &config.limits).await
            }
            McpTransport::Http(server) => {
                Self::open_http(server, &config.secrets, &config.limits).await
            }
        }
    }

    async fn open_http(
        server: &McpHttpServer,
        secrets: &SecretScope,
        limits: &McpLimits,
    ) -> Result<Self, McpServerError> {
        let task_tools = TaskTools::default();
        let transport = http::transport(server, secrets, limits, &task_tools)?;
        let handler = NotificationHandler::default();
        let tools_changed = handler.tools_changed.clone();
        let running = timeout(limits.start_timeout, handler.serve(transport))
            .await
            .map_err(|_| McpServerError::StartTimeout(limits.start_timeout))?
            .map_err(|error| connect_error(&error))?;
        // Over HTTP a message that is too long fails its request, so no line is truncated.
        let truncated = watch::channel(0).1;
        let client = McpClient::new(running.peer().clone(), truncated, task_tools, limits);
        Ok(Self::new(running, client, tools_changed, None, limits))
    }

    async fn open_stdio(
        server: &McpStdioServer,
        secrets: &SecretScope,
        limits: &McpLimits,
    ) -> Result<Self, McpServerError> {
        let (process, stdout, stdin) = Process::start(server, secrets)?;
        let (sender, truncated) = watch::channel(0);
        let task_tools = TaskTools::default();
        let observer = task_tools.clone();
        let lines = bounded_lines::BoundedLines::new(stdout, limits.max_message_bytes, sender)
            .observed(move |line| observer.observe(line));
        let transport = AsyncRwTransport::new_client(lines, stdin)
            .with_max_line_length(limits.max_message_bytes.saturating_add(2));
        let handler = NotificationHandler::default();
        let tools_changed = handler.tools_changed.clone();
        let error = match timeout(limits.start_timeout, handler.serve(transport)).await {
            Ok(Ok(running)) => {
                let peer = running.peer().clone();
                let client = McpClient::new(peer, truncated, task_tools, limits);
                return Ok(Self::new(running, client, tools_changed, Some(process), limits));
            }
            Ok(Err(error)) => connect_error(&error),
            Err(_) => McpServerError::StartTimeout(limits.start_timeout),
        };
        let stderr = process.stderr();
        process.stop(Duration::ZERO).await;
        Err(with_stderr(error, Some(&stderr)))
    }

    fn new(
        running: RunningService<RoleClient, NotificationHandler>,
        client: McpClient,
        tools_changed: Arc<Notify>,
        process: Option<Process>,
        limits: &McpLimits,
    ) -> Self {
        let stop = running.cancellation_token();
        let closed = Box::pin(async move {
            let _ = running.waiting().await;
        });
        Self { client, tools_changed, closed, stop, process, shutdown_grace: limits.shutdown_grace }
    }

    /// Returns a client for the tools of the server.
    pub(super) fn client(&self) -> McpClient {
        self.client.clone()
    }

    /// Returns the signal that the tools of the server have changed.
    pub(super) fn tools_changed(&self) -> Arc<Notify> {
        self.tools_changed.clone()
    }

    /// Waits until the connection is closed.
    pub(super) async fn wait_closed(&mut self) {
        (&mut self.closed).await;
    }

    /// Cleans up after the server has closed the connection, and returns the error.
    pub(super) async fn into_closed_error(self) -> McpServerError {
        let stderr = self.process.as_ref().map(Process::stderr);
        if let Some(process) = self.process {
            process.stop(Duration::ZERO).await;
        }
        with_stderr(McpServerError::ConnectionClosed, stderr.as_ref())
    }

    /// Ends the session and stops the server.
    pub(super) async fn close(mut self) {
        self.stop.cancel();
        let _ = timeout(CLOSE_TIMEOUT, &mut self.closed).await;
        if let Some(process) = self.process {
            process.stop(self.shutdown_grace).await;
        }
    }
}

fn connect_error(error: &ClientInitializeError) -> McpServerError {
    let reason = match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection at once".to_owned(),
        ClientInitializeError::TransportError { error, .. } => client::transport_error_text(error),
        ClientInitializeError::JsonRpcError(error) => client::printable(&error.message),
        _ => "it did not answer the initialization correctly".to_owned(),
    };
    McpServerError::Connect(reason)
}

fn with_stderr(error: McpServerError, stderr: Option<&StderrTail>) -> McpServerError {
    match stderr.and_then(StderrTail::text) {
        Some(stderr) => McpServerError::WithStderr { error: Box::new(error), stderr },
        None => error,
    }
}

/// The client side of a session. It has no capabilities of its own.
#[derive(Default)]
struct NotificationHandler {
    tools_changed: Arc<Notify>,
}

impl ClientHandler for NotificationHandler {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("ostler", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }
}
