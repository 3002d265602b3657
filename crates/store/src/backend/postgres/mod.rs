//! PostgreSQL: a thread for each connection, a transaction for each operation.
//!
//! A thread drives its own connection, so that an operation waits for the server
//! without waking anybody else. Requests wait in one queue; a thread is started when
//! all others are busy.

mod connection;
mod tx;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio_postgres::Config;

use super::job::Request;
use crate::error::{Result, StoreError};
use connection::ConnectionThread;
pub(crate) use tx::PgTx;

const CONNECTIONS: usize = 16;
/// How long a request waits for a connection, and a connection for the server.
const WAIT: Duration = Duration::from_secs(10);

/// Limits that no correct statement reaches.
const OPTIONS: &str = "-c statement_timeout=30s -c lock_timeout=10s \
     -c idle_in_transaction_session_timeout=30s";

/// A PostgreSQL database.
#[derive(Debug, Clone)]
pub(crate) struct Postgres(Arc<PoolOwner>);

/// Ends the threads when the last clone of the database is dropped.
#[derive(Debug)]
struct PoolOwner(Arc<Pool>);

impl Drop for PoolOwner {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.idle.drain(..).for_each(|thread| thread.notify_one());
    }
}

impl Postgres {
    /// Creates the pool; the first request connects.
    pub(crate) fn open(url: &str) -> Result<Self> {
        let mut config: Config = url.parse().map_err(|_| StoreError::InvalidUrl)?;
        config.application_name("ostler").connect_timeout(WAIT);
        // Options of the address come last and override these.
        let options = format!("{OPTIONS} {}", config.get_options().unwrap_or_default());
        config.options(options.trim_end());
        let pool = Pool { config, state: Mutex::default() };
        Ok(Self(Arc::new(PoolOwner(Arc::new(pool)))))
    }

    /// Queues a request for the next free connection.
    pub(crate) fn submit(&self, request: Request) {
        let pool = &self.0.0;
        let mut state = pool.lock();
        state.queue.push_back((request, Instant::now()));
        if let Some(thread) = state.idle.pop() {
            thread.notify_one();
        } else if state.threads < CONNECTIONS {
            match start_thread(pool.clone()) {
                Ok(()) => state.threads += 1,
                // Another thread will take the request, if there is one.
                Err(error) if state.threads == 0 => {
                    let unavailable = || Err(StoreError::Unavailable(error.to_string()));
                    state
                        .queue
                        .drain(..)
                        .for_each(|(request, _)| request.job.finish(unavailable()));
                }
                Err(_) => {}
            }
        }
    }
}

fn start_thread(pool: Arc<Pool>) -> std::io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new()
        .name("ostler-postgres".into())
        .spawn(move || ConnectionThread::new(&runtime, &pool.config).run(|| pool.next(&runtime)))
        .map(drop)
}

/// The requests and the threads that serve them.
#[derive(Debug)]
struct Pool {
    config: Config,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    queue: VecDeque<(Request, Instant)>,
    /// Threads that wait for a request; the one that waits for the shortest time is
    /// woken first.
    idle: Vec<Arc<Notify>>,
    threads: usize,
    closed: bool,
}

impl std::fmt::Debug for PoolState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PoolState({} requests, {} threads)", self.queue.len(), self.threads)
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next request, or None when the database is closed. The runtime
    /// drives the connection while the thread waits.
    fn next(&self, runtime: &Runtime) -> Option<Request> {
        let wake = Arc::new(Notify::new());
        loop {
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
                None => runtime.block_on(wake.notified()),
                Some((request, queued_at)) if queued_at.elapsed() > WAIT => {
                    let why = "no connection was free in time".to_owned();
                    request.job.finish(Err(StoreError::Unavailable(why)));
                }
                Some((request, _)) => return Some(request),
            }
        }
    }
}
