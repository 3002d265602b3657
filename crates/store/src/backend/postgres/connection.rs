//! A connection: it serves requests, one after the other.

use std::cell::RefCell;
use std::collections::HashMap;

use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls, Statement};

use super::address::ServerAddress;
use super::coroutine::Waiter;
use super::tx::PgTx;
use super::{Pool, WAIT};
use crate::backend::Tx;
use crate::backend::job::{Access, Request, RunEnd};
use crate::error::{Result, StoreError};

/// How often a write is tried that conflicts with another.
const ATTEMPTS: u32 = 5;

/// A connection with its prepared statements, found by the address of their text.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) statements: RefCell<HashMap<(*const u8, usize), Statement>>,
}

/// Why there is no connection.
enum ConnectFailure {
    /// The server, or the role, has as many connections as it accepts.
    TooMany(StoreError),
    Other(StoreError),
}

impl From<tokio_postgres::Error> for ConnectFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(&SqlState::TOO_MANY_CONNECTIONS) => Self::TooMany(error.into()),
            _ => Self::Other(error.into()),
        }
    }
}

impl From<ConnectFailure> for StoreError {
    fn from(failure: ConnectFailure) -> Self {
        let (ConnectFailure::TooMany(error) | ConnectFailure::Other(error)) = failure;
        error
    }
}

/// Serves requests, one after the other, and connects again when needed.
pub(super) struct PgConnection<'w> {
    waiter: &'w Waiter<'w>,
    address: &'w ServerAddress,
    connection: Option<Connection>,
}

impl<'w> PgConnection<'w> {
    pub(super) const fn new(waiter: &'w Waiter<'w>, address: &'w ServerAddress) -> Self {
        Self { waiter, address, connection: None }
    }

    /// Serves the requests of a pool until there is none. If the server accepts no further
    /// connection, those that are open serve them.
    pub(super) fn serve_all(mut self, waiter: &Waiter<'_>, pool: &Pool) {
        while let Some(next) = pool.next(waiter) {
            let (mut request, served) = match self.open() {
                Ok(_) => (next.0, None),
                Err(ConnectFailure::Other(error)) => (next.0, Some(Err(error))),
                Err(ConnectFailure::TooMany(error)) => match pool.take_back(next) {
                    Ok(()) => return,
                    Err((request, _)) => (request, Some(Err(error))),
                },
            };
            let served = served.unwrap_or_else(|| self.serve(&mut request));
            request.job.finish(served);
        }
    }

    /// Runs an operation in a transaction, and again if it conflicts with another.
    ///
    /// If the connection is lost during the commit, its outcome is unknown. The
    /// caller gets [`StoreError::Unavailable`] and may repeat the operation: one that
    /// must not happen twice has an id or a reference that identifies a repeat.
    fn serve(&mut self, request: &mut Request) -> Result<()> {
        let begin = match request.access {
            Access::Read | Access::ReadHot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Access::Write | Access::Lease => "BEGIN",
            Access::WriteLater => "BEGIN; SET LOCAL synchronous_commit = off",
        };
        for attempt in 1.. {
            let waiter = self.waiter;
            let connection = self.connection()?;
            let tx = Tx::Postgres(PgTx::new(waiter, connection, begin, request.scope.clone()));
            let end = request.job.run(&tx);
            let Tx::Postgres(tx) = tx else { break };
            let ended = tx.end(end == RunEnd::Succeeded);
            if ended.is_err() {
                self.connection = None;
            }
            if end != RunEnd::Conflicted || attempt == ATTEMPTS || request.access.reads() {
                // What a failed operation says is more than that its rollback failed.
                return if end == RunEnd::Succeeded { ended } else { Ok(()) };
            }
        }
        Ok(())
    }

    /// Returns an open connection.
    fn connection(&mut self) -> Result<&Connection> {
        Ok(self.open()?)
    }

    /// Connects, unless the connection is open.
    fn open(&mut self) -> std::result::Result<&Connection, ConnectFailure> {
        let open = self.connection.take().filter(|connection| !connection.client.is_closed());
        let open = match open {
            Some(connection) => connection,
            None => self.connect()?,
        };
        Ok(self.connection.insert(open))
    }

    fn connect(&self) -> std::result::Result<Connection, ConnectFailure> {
        let late = |_| StoreError::Unavailable("the server did not answer in time".into());
        let late = |error| ConnectFailure::Other(late(error));
        let ServerAddress { config, tls } = self.address;
        // The task ends when the client is dropped; errors are reported to the client.
        let client = match tls {
            Some(tls) => {
                let connecting = timeout(WAIT, config.connect(tls.clone()));
                let connected = self.waiter.wait(connecting).map_err(late)?;
                let (client, connection) = connected.map_err(ConnectFailure::from)?;
                tokio::task::spawn_local(async { drop(connection.await) });
                client
            }
            None => {
                let connecting = timeout(WAIT, config.connect(NoTls));
                let connected = self.waiter.wait(connecting).map_err(late)?;
                let (client, connection) = connected.map_err(ConnectFailure::from)?;
                tokio::task::spawn_local(async { drop(connection.await) });
                client
            }
        };
        Ok(Connection { client, statements: RefCell::default() })
    }
}
