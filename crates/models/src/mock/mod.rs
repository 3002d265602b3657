//! A server that plays a provider: OpenAI's chat completions and Anthropic's
//! messages, streamed or not, answered from a script.
//!
//! It owns the wire: how an answer looks there, and how it goes wrong there. What
//! is answered is the script's business ([`crate::scripted`]), so a script
//! behaves the same in this process and over HTTP. It asks for no key, and is for
//! tests, demonstrations and measurements only.

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

use crate::scripted::{Player, Script};
use record::Log;
pub use record::Recorded;
use route::Host;

/// This machine alone, on any free port.
pub const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// What a server does not go beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time; more of them wait.
    pub connections: usize,
    /// The most bytes of a request.
    pub body: usize,
    /// How long a request may take to come.
    pub request: Duration,
    /// How long an answer may take to go.
    pub answer: Duration,
    /// How long answers may go on when the server is stopped.
    pub drain: Duration,
    /// How many requests are remembered; the oldest are forgotten.
    pub recorded: usize,
}

impl Default for Limits {
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

/// A server that runs. It stops when this is dropped; [`MockServer::stop`] lets
/// answers end first.
///
/// ```
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use ostler_models::mock::{LOOPBACK, MockServer};
/// use ostler_models::scripted::Script;
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
    log: Arc<Log>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl MockServer {
    /// Begins to listen there, with the usual limits. Port 0 is any free one.
    pub async fn start(
        address: SocketAddr,
        script: impl Into<Arc<Script>>,
    ) -> std::io::Result<Self> {
        Self::start_with(address, script, Limits::default()).await
    }

    /// Begins to listen there.
    pub async fn start_with(
        address: SocketAddr,
        script: impl Into<Arc<Script>>,
        limits: Limits,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let log = Arc::new(Log::new(limits.recorded));
        let host = Host { player: Player::new(script.into()), log: log.clone(), limits };
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(serve::run(listener, Arc::new(host), stopped));
        Ok(Self { address, log, stop, task })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as clients want it: without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked, the oldest first.
    pub fn requests(&self) -> Vec<Recorded> {
        self.log.all()
    }

    /// Takes no more requests, and returns when the answers that are on their
    /// way have ended or may not go on any longer.
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
