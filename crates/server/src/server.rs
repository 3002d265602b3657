//! The server's dependencies, its accept loop and its graceful shutdown.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper::{HeaderMap, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use ostler_channels::Channels;
use ostler_runtime::agents::AgentRuntimes;
use ostler_runtime::conversation::receive::InboundReceiver;
use ostler_runtime::deltas::Deltas;
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::Operations;
use ostler_runtime::operations::world::ApplyHost;
use ostler_store::Store;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Semaphore, watch};

use crate::account::Accounts;
use crate::account::oidc::{IdentityProvider, IdentityProviders};
use crate::body::LargeBodies;
use crate::client_address::{TrustedProxies, counted_address};
use crate::error::ApiError;
use crate::event_tail::EventTails;
use crate::metrics::HttpMetrics;
use crate::open_counts::OpenCounts;
use crate::rate_limits::{RateLimits, RateRules};
use crate::route::TableError;
use crate::stream::StreamHolder;
use crate::threads::{LiveThreads, ThreadOptions};
use crate::write_deadline::WriteDeadline;
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

/// What clients may do at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLimits {
    pub rates: RateRules,
    /// The proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: TrustedProxies,
    pub streams_per_address: usize,
    pub streams_per_visitor: usize,
    pub streams_per_org: usize,
    /// Connections of an address that is no trusted proxy.
    pub connections_per_address: usize,
    /// How long a client may leave a response unread.
    pub write_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            rates: RateRules::default(),
            trusted_proxies: TrustedProxies::default(),
            streams_per_address: 256,
            streams_per_visitor: 8,
            streams_per_org: 4_000,
            connections_per_address: 1_000,
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// The address of the client of a request, which is an extension of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl FromRequestParts<Server> for ClientAddress {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<Self, ApiError> {
        let address = parts.extensions.get::<Self>().copied();
        address.ok_or_else(|| ApiError::internal(&"a request without an address"))
    }
}

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
    /// The agents on queues.
    pub queues: QueueBus,
    /// The URL under which browsers reach the server, without a slash at its end.
    pub public_url: Option<String>,
}

/// The bus of agents on queues.
#[derive(Debug, Clone, Default)]
pub struct QueueBus {
    pub runtimes: AgentRuntimes,
    /// Whether other processes share the bus.
    pub is_shared: bool,
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
    pub(crate) limits: Arc<ServerLimits>,
    pub(crate) rates: RateLimits,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) open_streams: OpenCounts<StreamHolder>,
    pub(crate) bodies: LargeBodies,
    pub(crate) threads: LiveThreads,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) metrics: HttpMetrics,
    /// Held from the check of a version to the change that is based on it.
    pub(crate) conditional_changes: Arc<Mutex<()>>,
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
        Ok(Self {
            deps: Arc::new(parts),
            tails,
            limits: Arc::default(),
            rates: RateLimits::new(RateRules::default()),
            streams,
            open_streams: OpenCounts::default(),
            bodies,
            threads,
            accounts: Arc::default(),
            metrics: HttpMetrics::default(),
            conditional_changes: Arc::default(),
            stop,
        })
    }

    /// Replaces the default limits.
    #[must_use]
    pub fn with_limits(self, limits: ServerLimits) -> Self {
        let rates = RateLimits::new(limits.rates.clone());
        Self { limits: Arc::new(limits), rates, ..self }
    }

    /// Records requests in these values.
    #[must_use]
    pub fn with_metrics(self, metrics: HttpMetrics) -> Self {
        Self { metrics, ..self }
    }

    /// Lets people log in with identity providers.
    #[must_use]
    pub fn with_identity_providers(self, providers: &[IdentityProvider]) -> Self {
        let providers = IdentityProviders::new(providers);
        Self { accounts: Arc::new(Accounts { providers, ..Accounts::default() }), ..self }
    }

    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        ClientAddress(self.limits.trusted_proxies.client(peer, headers))
    }

    /// Serves connections until `shutdown` resolves; then ends the streams, lets
    /// requests finish and returns.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let service = TowerToHyperService::new(routes::router(&self, route::groups()));
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let by_address = OpenCounts::default();
        let graceful = GracefulShutdown::new();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(MAX_HEADER_BYTES);
        let (threads, stopped) = (self.threads.clone(), self.stop.subscribe());
        let store = self.deps.store.clone();
        tokio::spawn(async move { threads.run(store, stopped).await });
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
            let (socket, peer) = match accepted {
                Ok((socket, peer)) => (socket, peer.ip().to_canonical()),
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted, will retry");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            let max = match self.limits.trusted_proxies.contains(peer) {
                true => usize::MAX,
                false => self.limits.connections_per_address,
            };
            let Some(counted) = by_address.open(counted_address(peer), max) else {
                tracing::debug!(%peer, "connection refused, the address has too many");
                continue;
            };
            let socket = WriteDeadline::new(socket, self.limits.write_timeout);
            let (service, server) = (service.clone(), self.clone());
            let service = service_fn(move |mut request: Request<Incoming>| {
                let client = server.client(peer, request.headers());
                request.extensions_mut().insert(client);
                service.call(request)
            });
            let connection = http.serve_connection(TokioIo::new(socket), service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                let _open = (permit, counted);
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
