//! What the server is made of, and its life: it accepts connections until it is
//! told to stop, ends its streams, lets requests finish, and is gone.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use ostler_channels::Channels;
use ostler_runtime::deltas::Deltas;
use ostler_runtime::inbound::receive::Reception;
use ostler_runtime::operations::Operations;
use ostler_runtime::parts::Clock;
use ostler_store::Store;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::routes;
use crate::tail::Tails;

/// Where a server listens unless it is told otherwise: nobody outside this
/// machine reaches it.
pub const ADDRESS: &str = "127.0.0.1:7470";

/// The most connections at once.
const CONNECTIONS: usize = 20_000;
/// The most event streams at once.
const STREAMS: usize = 10_000;
/// How long the head of a request may take to arrive.
const HEAD: Duration = Duration::from_secs(15);
/// The most bytes of a head.
const HEAD_BYTES: usize = 64 * 1024;
/// How long requests may finish after the server was told to stop.
const DRAIN: Duration = Duration::from_secs(20);
/// How long it waits after no connection could be accepted, since there are too
/// many open files, most of all.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// What a server is made of.
#[derive(Debug)]
pub struct Parts {
    /// What is kept.
    pub store: Store,
    /// What operators can do.
    pub operations: Operations,
    /// Takes what channels bring.
    pub reception: Reception,
    /// Opens the bindings of web chats.
    pub channels: Channels,
    /// What is being written right now.
    pub deltas: Deltas,
    /// The time.
    pub clock: Clock,
}

/// A server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Server {
    pub(crate) parts: Arc<Parts>,
    pub(crate) tails: Tails,
    pub(crate) streams: Arc<Semaphore>,
    /// Becomes true when the server is to stop.
    pub(crate) stop: watch::Sender<bool>,
}

impl Server {
    /// A server that listens nowhere yet.
    pub fn new(parts: Parts) -> Self {
        let tails = Tails::new(parts.store.clone());
        let streams = Arc::new(Semaphore::new(STREAMS));
        Self { parts: Arc::new(parts), tails, streams, stop: watch::Sender::new(false) }
    }

    /// Answers whoever connects until `shutdown` is over; then ends the streams,
    /// lets requests finish, and returns.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let service = TowerToHyperService::new(routes::all(self.clone()));
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let graceful = GracefulShutdown::new();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES);
        tokio::pin!(shutdown);
        loop {
            let accepted = async {
                let permit = room.clone().acquire_owned().await.ok();
                (permit, listener.accept().await)
            };
            let (permit, accepted) = tokio::select! {
                () = &mut shutdown => break,
                accepted = accepted => accepted,
            };
            let socket = match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(AFTER_FAILURE).await;
                    continue;
                }
            };
            let connection = http.serve_connection(TokioIo::new(socket), service.clone());
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                let _permit = permit;
                // Whoever goes away in the middle of something is no news.
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection ended");
                }
            });
        }
        drop(listener);
        self.stop.send_replace(true);
        if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
            tracing::warn!("some requests did not finish in time and were cut off");
        }
    }
}
