//! The protocol, and the only folder that names the library which speaks it.
//!
//! A [`Connection`] is what the keeper of a server holds; a [`Caller`] is what its
//! tools hold. Nothing here decides what a tool may do or when to start again.

mod answer;
mod body;
mod caller;
mod http;
mod lines;
mod list;
mod process;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{
    ClientInitializeError, NotificationContext, RoleClient, RunningService,
    RunningServiceCancellationToken,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, ServiceExt};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

pub(super) use caller::{Answer, CallFailure, Caller};

use super::config::{HttpServer, McpLimits, McpServerConfig, McpTransport, StdioServer};
use super::problem::Trouble;
use process::{Process, Words};

/// How long the library takes at most to say good-bye.
const CLOSING: Duration = Duration::from_secs(8);

/// A server that has said hello.
pub(super) struct Connection {
    caller: Caller,
    changed: Arc<Notify>,
    ended: BoxFuture<'static, ()>,
    stop: RunningServiceCancellationToken,
    process: Option<Process>,
    grace: Duration,
}

impl Connection {
    /// Starts a server, or reaches it, and says hello.
    pub(super) async fn open(config: &McpServerConfig) -> Result<Self, Trouble> {
        match &config.transport {
            McpTransport::Stdio(server) => Self::open_stdio(server, &config.limits).await,
            McpTransport::Http(server) => Self::open_http(server, &config.limits).await,
        }
    }

    async fn open_http(server: &HttpServer, limits: &McpLimits) -> Result<Self, Trouble> {
        let transport = http::transport(server, limits)?;
        let guest = Guest::default();
        let changed = guest.changed.clone();
        let running = timeout(limits.start, guest.serve(transport))
            .await
            .map_err(|_| Trouble::TooSlow(limits.start))?
            .map_err(|error| connect(&error))?;
        // A message that is too long ends its request, so none is cut in silence.
        let cut = watch::channel(0).1;
        Ok(Self::new(running, changed, cut, None, limits))
    }

    async fn open_stdio(server: &StdioServer, limits: &McpLimits) -> Result<Self, Trouble> {
        let (process, stdout, stdin) = Process::start(server)?;
        let (sender, cut) = watch::channel(0);
        let lines = lines::Lines::new(stdout, limits.message, sender);
        let transport = AsyncRwTransport::new_client(lines, stdin)
            .with_max_line_length(limits.message.saturating_add(2));
        let guest = Guest::default();
        let changed = guest.changed.clone();
        let trouble = match timeout(limits.start, guest.serve(transport)).await {
            Ok(Ok(running)) => {
                return Ok(Self::new(running, changed, cut, Some(process), limits));
            }
            Ok(Err(error)) => connect(&error),
            Err(_) => Trouble::TooSlow(limits.start),
        };
        let words = process.words();
        process.end(Duration::ZERO).await;
        Err(with_words(trouble, Some(&words)))
    }

    fn new(
        running: RunningService<RoleClient, Guest>,
        changed: Arc<Notify>,
        cut: watch::Receiver<u64>,
        process: Option<Process>,
        limits: &McpLimits,
    ) -> Self {
        let caller = Caller::new(running.peer().clone(), cut, limits);
        let stop = running.cancellation_token();
        let ended = Box::pin(async move {
            let _ = running.waiting().await;
        });
        Self { caller, changed, ended, stop, process, grace: limits.grace }
    }

    /// What calls its tools.
    pub(super) fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// What is notified when it says that its tools have changed.
    pub(super) fn changed(&self) -> Arc<Notify> {
        self.changed.clone()
    }

    /// Waits until the connection has ended.
    pub(super) async fn ended(&mut self) {
        (&mut self.ended).await;
    }

    /// Cleans up after it has ended by itself.
    pub(super) async fn bury(self) -> Trouble {
        let words = self.process.as_ref().map(Process::words);
        if let Some(process) = self.process {
            process.end(Duration::ZERO).await;
        }
        with_words(Trouble::Ended, words.as_ref())
    }

    /// Says good-bye, and ends it.
    pub(super) async fn close(mut self) {
        self.stop.cancel();
        let _ = timeout(CLOSING, &mut self.ended).await;
        if let Some(process) = self.process {
            process.end(self.grace).await;
        }
    }
}

fn connect(error: &ClientInitializeError) -> Trouble {
    let why = match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended at once".to_owned(),
        ClientInitializeError::TransportError { error, .. } => caller::transport_text(error),
        ClientInitializeError::JsonRpcError(error) => caller::shown(&error.message),
        _ => "it did not answer the greeting as it should".to_owned(),
    };
    Trouble::Connect(why)
}

fn with_words(trouble: Trouble, words: Option<&Words>) -> Trouble {
    match words.and_then(Words::last) {
        Some(words) => Trouble::WithLastWords { trouble: Box::new(trouble), words },
        None => trouble,
    }
}

/// What we are to a server: we call its tools and offer nothing ourselves.
#[derive(Default)]
struct Guest {
    changed: Arc<Notify>,
}

impl ClientHandler for Guest {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("ostler", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
