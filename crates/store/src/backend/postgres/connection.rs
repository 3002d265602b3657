//! A connection: it serves requests, one after the other.

use std::cell::RefCell;
use std::collections::HashMap;

use tokio::time::timeout;
use tokio_postgres::{Client, NoTls, Statement};

use super::WAIT;
use super::address::ServerAddress;
use super::coroutine::Waiter;
use super::tx::PgTx;
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

    /// Serves requests until there is none.
    pub(super) fn serve_all(mut self, next: impl Fn() -> Option<Request>) {
        while let Some(mut request) = next() {
            let committed = self.serve(&mut request);
            request.job.finish(committed);
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
            Access::Write => "BEGIN",
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
        let open = self.connection.take().filter(|connection| !connection.client.is_closed());
        let open = match open {
            Some(connection) => connection,
            None => self.connect()?,
        };
        Ok(self.connection.insert(open))
    }

    fn connect(&self) -> Result<Connection> {
        let late = |_| StoreError::Unavailable("the server did not answer in time".into());
        let ServerAddress { config, tls } = self.address;
        // The task ends when the client is dropped; errors are reported to the client.
        let client = match tls {
            Some(tls) => {
                let connecting = timeout(WAIT, config.connect(tls.clone()));
                let (client, connection) = self.waiter.wait(connecting).map_err(late)??;
                tokio::task::spawn_local(async { drop(connection.await) });
                client
            }
            None => {
                let connecting = timeout(WAIT, config.connect(NoTls));
                let (client, connection) = self.waiter.wait(connecting).map_err(late)??;
                tokio::task::spawn_local(async { drop(connection.await) });
                client
            }
        };
        Ok(Connection { client, statements: RefCell::default() })
    }
}
