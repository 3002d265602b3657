//! A mock provider: serves a script over HTTP as OpenAI's chat completions and
//! Anthropic's Messages, streamed or not.
//!
//! It owns the wire formats and their faults. The answers come from the script, so
//! that it behaves the same in process and over HTTP. It requires no key and is
//! meant for tests, demonstrations and measurements only.

mod answer;
mod anthropic;
mod check;
mod dialect;
mod openai;
mod record;
mod route;
mod serve;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::{Responder, Script};
pub use record::RecordedRequest;
use record::RequestLog;
use route::ServerState;

/// The local machine, on any free port.
pub const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The limits of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MockLimits {
    /// Further connections wait.
    pub connections: usize,
    /// The most bytes of a request.
    pub body: usize,
    /// The time limit for receiving a request.
    pub request: Duration,
    /// The time limit for sending an answer.
    pub answer: Duration,
    /// How long answers may continue when the server is stopped.
    pub drain: Duration,
    /// How many requests are recorded; the oldest are dropped.
    pub recorded: usize,
}

impl Default for MockLimits {
    fn default() -> Self {
        Self {
            connections: 256,
            body: 8 * 1024 * 1024,
            request: Duration::from_secs(30),
            answer: Duration::from_secs(600),
            drain: Duration::from_secs(2),
            recorded: 1000,
        }
    }
}

/// A running server. Dropping it stops the server at once; [`MockServer::stop`] lets
/// running answers finish.
///
/// ```
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use ostler_scripted::mock::{LOOPBACK, MockServer};
/// use ostler_scripted::Script;
///
/// let script = Script::parse("hello.yaml", "default: Hello!")?;
/// let server = MockServer::start(LOOPBACK, script).await?;
/// println!("ask {}/v1/chat/completions", server.url());
/// server.stop().await;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct MockServer {
    address: SocketAddr,
    log: Arc<RequestLog>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl MockServer {
    /// Starts a server with the default limits. Port 0 means any free port.
    pub async fn start(
        address: SocketAddr,
        script: impl Into<Arc<Script>>,
    ) -> std::io::Result<Self> {
        Self::start_with(address, script, MockLimits::default()).await
    }

    /// Starts a server.
    pub async fn start_with(
        address: SocketAddr,
        script: impl Into<Arc<Script>>,
        limits: MockLimits,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let log = Arc::new(RequestLog::new(limits.recorded));
        let state =
            ServerState { responder: Responder::new(script.into()), log: log.clone(), limits };
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(serve::run(listener, Arc::new(state), stopped));
        Ok(Self { address, log, stop, task })
    }

    /// Returns the address it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the recorded requests, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.log.all()
    }

    /// Stops accepting requests and waits until running answers have ended or the drain
    /// time is over.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        let _ = (&mut self.task).await;
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
