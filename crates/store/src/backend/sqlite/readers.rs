//! A pool of read-only connections.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::connect;
use super::tx::SqliteTx;
use crate::backend::Tx;
use crate::backend::job::Request;
use crate::error::Result;

/// How many operations may read at the same time.
const READERS: usize = 8;

/// Connections that read while the writer writes.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    pub(super) permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::new(Vec::new()), permits: Arc::new(Semaphore::new(READERS)) }
    }

    /// Returns the path of the database.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs an operation and answers its caller.
    pub(super) fn run(&self, mut request: Request) {
        let done = self.with_connection(|connection| {
            request.job.run(&Tx::Sqlite(SqliteTx::Read(connection)));
        });
        request.job.finish(done);
    }

    fn with_connection(&self, run: impl FnOnce(&Connection)) -> Result<()> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let reused = idle().pop();
        let connection = match reused {
            Some(connection) => connection,
            None => self.connect()?,
        };
        // One snapshot for all queries of the operation.
        connection.prepare_cached("BEGIN")?.execute([])?;
        run(&connection);
        // A connection that cannot end its transaction is not used again.
        if connection.execute_batch("COMMIT").is_ok() {
            idle().push(connection);
        }
        Ok(())
    }

    fn connect(&self) -> Result<Connection> {
        let connection = connect(Some(&self.path))?;
        connection.pragma_update(None, "query_only", "ON")?;
        Ok(connection)
    }
}
