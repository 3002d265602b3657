//! Takes connections, a bounded number of them, until it is stopped.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::route::{Host, route};

/// The wait after a connection that could not be taken.
const AFTER_ERROR: Duration = Duration::from_millis(50);

pub(super) async fn run(listener: TcpListener, host: Arc<Host>, stopped: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(host.limits.connections));
    let mut connections = JoinSet::new();
    let mut stop = stopped.clone();
    let accept = async {
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            while connections.try_join_next().is_some() {}
            let Ok((stream, _)) = listener.accept().await else {
                // There may be no more files to open; asking on and on would not help.
                tokio::time::sleep(AFTER_ERROR).await;
                continue;
            };
            let (host, stopped) = (host.clone(), stopped.clone());
            connections.spawn(async move {
                connection(stream, host, stopped).await;
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(host.limits.drain, ended).await;
}

async fn connection(stream: TcpStream, host: Arc<Host>, mut stopped: watch::Receiver<bool>) {
    // Pieces go out as they are, and not when there are enough of them.
    let _ = stream.set_nodelay(true);
    let time = host.limits.request;
    let service = service_fn(move |request| {
        let host = host.clone();
        async move { route(&host, request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(time)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // How a connection ends is what its client sees; nobody here needs it.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
