//! Accepts a bounded number of connections until it is stopped.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::route::{ServerState, route};

/// The delay after a failed `accept`.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

pub(super) async fn run(
    listener: TcpListener,
    state: Arc<ServerState>,
    stopped: watch::Receiver<bool>,
) {
    let permits = Arc::new(Semaphore::new(state.limits.connections));
    let mut connections = JoinSet::new();
    let mut stop = stopped.clone();
    let accept = async {
        loop {
            let Ok(permit) = permits.clone().acquire_owned().await else { return };
            while connections.try_join_next().is_some() {}
            let Ok((stream, _)) = listener.accept().await else {
                // Most likely no file descriptors are left; retrying at once would not help.
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            };
            let (state, stopped) = (state.clone(), stopped.clone());
            connections.spawn(async move {
                connection(stream, state, stopped).await;
                drop(permit);
            });
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(state.limits.drain, ended).await;
}

async fn connection(
    stream: TcpStream,
    state: Arc<ServerState>,
    mut stopped: watch::Receiver<bool>,
) {
    // Chunks are sent one by one, not collected.
    let _ = stream.set_nodelay(true);
    let time = state.limits.request;
    let service = service_fn(move |request| {
        let state = state.clone();
        async move { route(&state, request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(time)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // How a connection ends matters only to its client.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
