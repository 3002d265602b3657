//! The server's dependencies, its accept loop and its graceful shutdown.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use ostler_channels::Channels;
use ostler_runtime::conversation::receive::InboundReceiver;
use ostler_runtime::deltas::Deltas;
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::Operations;
use ostler_runtime::operations::world::ApplyHost;
use ostler_store::Store;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::body::LargeBodies;
use crate::event_tail::EventTails;
use crate::route::TableError;
use crate::threads::{LiveThreads, ThreadOptions};
use crate::{route, routes};

/// Default listen address, reachable from this machine only.
pub const ADDRESS: &str = "127.0.0.1:7470";

const MAX_CONNECTIONS: usize = 20_000;
const MAX_STREAMS: usize = 10_000;
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// How long running requests may take after shutdown began.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
/// Pause after `accept` failed, usually because of too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// What a server needs.
#[derive(Debug)]
pub struct ServerDeps {
    pub store: Store,
    pub operations: Operations,
    /// Accepts inbound messages of channels.
    pub receiver: InboundReceiver,
    pub channels: Channels,
    /// Text that agents are streaming.
    pub deltas: Deltas,
    pub clock: Clock,
    /// Threads of the interactive harness.
    pub threads: ThreadOptions,
    /// The machine, for changes of the configuration.
    pub host: ConfigHost,
    /// The URL under which browsers reach the server, without a slash at its end.
    pub public_url: Option<String>,
}

/// The machine that changes of the configuration are made on.
#[derive(Clone)]
pub struct ConfigHost(pub Arc<dyn ApplyHost>);

impl std::fmt::Debug for ConfigHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConfigHost")
    }
}

/// An HTTP server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Server {
    pub(crate) deps: Arc<ServerDeps>,
    pub(crate) tails: EventTails,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) bodies: LargeBodies,
    pub(crate) threads: LiveThreads,
    /// Becomes true on shutdown.
    pub(crate) stop: watch::Sender<bool>,
}

impl Server {
    /// Makes a server that does not listen yet.
    /// Fails if a route does not check what its handler needs.
    pub fn new(parts: ServerDeps) -> Result<Self, TableError> {
        route::check(&route::groups())?;
        let tails = EventTails::new(parts.store.clone());
        let streams = Arc::new(Semaphore::new(MAX_STREAMS));
        let (bodies, stop) = (LargeBodies::default(), watch::Sender::new(false));
        let threads = LiveThreads::new(parts.threads.clone());
        Ok(Self { deps: Arc::new(parts), tails, streams, bodies, threads, stop })
    }

    /// Serves connections until `shutdown` resolves; then ends the streams, lets
    /// requests finish and returns.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let service = TowerToHyperService::new(routes::router(&self, route::groups()));
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let graceful = GracefulShutdown::new();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(MAX_HEADER_BYTES);
        let (threads, stopped) = (self.threads.clone(), self.stop.subscribe());
        tokio::spawn(async move { threads.run(stopped).await });
        tokio::pin!(shutdown);
        loop {
            let accepted = async {
                let permit = connections.clone().acquire_owned().await.ok();
                (permit, listener.accept().await)
            };
            let (permit, accepted) = tokio::select! {
                () = &mut shutdown => break,
                accepted = accepted => accepted,
            };
            let socket = match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted, will retry");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            let connection = http.serve_connection(TokioIo::new(socket), service.clone());
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                let _permit = permit;
                // A client that disconnects is not an error.
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "connection ended with an error");
                }
            });
        }
        drop(listener);
        self.stop.send_replace(true);
        if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
            tracing::warn!("drain timeout reached, remaining requests were aborted");
        }
        self.threads.drain().await;
    }
}
