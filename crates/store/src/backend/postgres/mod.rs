//! PostgreSQL: a few connections, a transaction for each operation.
//!
//! All connections live on one thread. An operation runs there as a function that waits
//! for the server ([`coroutine`]); meanwhile the thread serves the other connections.
//! Requests wait in one queue, and a connection is opened when all others are busy.

mod address;
mod connection;
mod coroutine;
mod tx;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinSet, LocalSet};

use super::job::Request;
use crate::error::{Result, StoreError};
use address::ServerAddress;
use connection::PgConnection;
use coroutine::Waiter;
pub(crate) use tx::PgTx;

const CONNECTIONS: usize = 16;
/// How long a request waits for a connection, and a connection for the server.
const WAIT: Duration = Duration::from_secs(10);
/// Less than any time limit.
const TICK: Duration = Duration::from_secs(5);

/// Limits that no correct statement reaches.
const OPTIONS: &str = "-c statement_timeout=30s -c lock_timeout=10s \
     -c idle_in_transaction_session_timeout=30s";

/// A PostgreSQL database.
#[derive(Debug, Clone)]
pub(crate) struct Postgres(Arc<PoolOwner>);

/// The side of the pool that sends requests. When the last clone of the database is
/// dropped, the connections finish their work and close.
#[derive(Debug)]
struct PoolOwner {
    pool: Arc<Pool>,
    /// Starts a connection.
    starts: mpsc::UnboundedSender<()>,
}

impl Drop for PoolOwner {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.closed = true;
        state.idle.drain(..).for_each(|connection| connection.notify_one());
    }
}

impl Postgres {
    /// Creates the pool; the first request connects.
    pub(crate) fn open(url: &str) -> Result<Self> {
        let mut address = ServerAddress::parse(url)?;
        let config = &mut address.config;
        config.application_name("ostler").connect_timeout(WAIT);
        // Options of the address come last and override these.
        let options = format!("{OPTIONS} {}", config.get_options().unwrap_or_default());
        config.options(options.trim_end());
        let pool = Arc::new(Pool { address, state: Mutex::default() });
        let (starts, connections) = mpsc::unbounded_channel();
        let unavailable = |error: std::io::Error| StoreError::Unavailable(error.to_string());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(unavailable)?;
        let served = pool.clone();
        std::thread::Builder::new()
            .name("ostler-postgres".into())
            .spawn(move || run_connections(&runtime, &served, connections))
            .map_err(unavailable)?;
        Ok(Self(Arc::new(PoolOwner { pool, starts })))
    }

    /// Queues a request for the next free connection.
    pub(crate) fn submit(&self, request: Request) {
        let mut state = self.0.pool.lock();
        state.queue.push_back((request, Instant::now()));
        if let Some(connection) = state.idle.pop() {
            connection.notify_one();
        } else if state.connections < CONNECTIONS && self.0.starts.send(()).is_ok() {
            state.connections += 1;
        }
    }
}

/// Starts connections as they are needed, and waits until all have closed.
fn run_connections(runtime: &Runtime, pool: &Arc<Pool>, mut starts: mpsc::UnboundedReceiver<()>) {
    LocalSet::new().block_on(runtime, async {
        // While no earlier timer is set, each time limit of a statement would wake the
        // thread once more.
        let ticker = tokio::task::spawn_local(async {
            loop {
                tokio::time::sleep(TICK).await;
            }
        });
        let mut connections = JoinSet::new();
        while starts.recv().await.is_some() {
            let served = pool.clone();
            let serve = move |waiter: &Waiter<'_>| {
                PgConnection::new(waiter, &served.address).serve_all(waiter, &served);
            };
            match coroutine::run(serve) {
                Ok(connection) => drop(connections.spawn_local(connection)),
                Err(error) => pool.fail_all(&error),
            }
        }
        while connections.join_next().await.is_some() {}
        ticker.abort();
    });
}

/// The requests and the connections that serve them.
#[derive(Debug)]
struct Pool {
    address: ServerAddress,
    state: Mutex<PoolState>,
}

/// A request, and when it was queued.
type QueuedRequest = (Request, Instant);

#[derive(Default)]
struct PoolState {
    queue: VecDeque<QueuedRequest>,
    /// Connections that wait for a request; the one that waits for the shortest time is
    /// woken first.
    idle: Vec<Arc<Notify>>,
    connections: usize,
    closed: bool,
}

impl std::fmt::Debug for PoolState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PoolState({} requests, {} connections)", self.queue.len(), self.connections)
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next request and when it was queued, or None when the database is closed.
    fn next(&self, waiter: &Waiter<'_>) -> Option<QueuedRequest> {
        loop {
            let wake = Arc::new(Notify::new());
            let next = {
                let mut state = self.lock();
                let next = state.queue.pop_front();
                match next {
                    None if state.closed => return None,
                    None => state.idle.push(wake.clone()),
                    Some(_) => {}
                }
                next
            };
            match next {
                None => waiter.wait(wake.notified()),
                Some((request, queued_at)) if queued_at.elapsed() > WAIT => {
                    let why = "no connection was free in time".to_owned();
                    request.job.finish(Err(StoreError::Unavailable(why)));
                }
                Some(next) => return Some(next),
            }
        }
    }

    /// Takes back the request of a connection that the server has no room for, and ends the
    /// connection: the others serve the request. Returns the request if there are no others.
    fn take_back(&self, request: QueuedRequest) -> std::result::Result<(), QueuedRequest> {
        let mut state = self.lock();
        if state.connections == 1 {
            return Err(request);
        }
        state.connections -= 1;
        state.queue.push_front(request);
        if let Some(connection) = state.idle.pop() {
            connection.notify_one();
        }
        Ok(())
    }

    /// Fails the waiting requests if no connection can serve them.
    fn fail_all(&self, error: &std::io::Error) {
        let mut state = self.lock();
        state.connections -= 1;
        if state.connections == 0 {
            let failed = || Err(StoreError::Unavailable(error.to_string()));
            state.queue.drain(..).for_each(|(request, _)| request.job.finish(failed()));
        }
    }
}
