//! SQLite: one thread that writes, connections beside it that read.
//!
//! Writes that wait at the same time share a transaction ([`group`]) and so one
//! flush to the disk, and each is answered only after that ([`flush`]). While the
//! disk is busy with one transaction, the next takes up whatever else comes: the
//! larger it is, the fewer pages are written more than once. What every turn reads
//! is read on that thread, too.

mod checkpoint;
mod flush;
mod group;
mod job;
mod prepared;
mod readers;
mod tx;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use tokio::sync::{mpsc, oneshot};

use flush::{Flusher, Progress};
use job::{Item, WriterJob};
use prepared::Writer;
use readers::Readers;

use super::Operation;
use crate::error::{Result, StoreError};

/// The most writes that wait; beyond it callers wait to be let in.
const MAX_WAITING: usize = 4096;
/// How long another process may hold the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Memory for pages of the file, as SQLite wants it: negative, in KiB. Much more
/// would be no gain: a commit looks at all of them, and the system keeps others.
const CACHE_KIB: i64 = -16 * 1024;
/// Prepared statements that a reading connection keeps.
const STATEMENTS: usize = 256;

/// A SQLite database.
#[derive(Debug, Clone)]
pub(crate) struct Sqlite {
    jobs: mpsc::Sender<Item>,
    /// None for a database in memory, which only its one connection can see.
    beside: Option<Beside>,
}

/// What a database file has beside its writer.
#[derive(Debug, Clone)]
struct Beside {
    readers: Arc<Readers>,
    progress: Arc<Progress>,
}

impl Sqlite {
    /// Opens a file, or a database in memory.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let mut writer = connect(path)?;
        if path.is_some() {
            let mode: String =
                writer.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
            if mode != "wal" {
                let why = format!("the file cannot have a write-ahead log, only `{mode}`");
                return Err(StoreError::Unavailable(why));
            }
            // The flush after each commit is the flusher's.
            writer.pragma_update(None, "synchronous", "NORMAL")?;
            writer.pragma_update(None, "cache_size", CACHE_KIB)?;
            writer.pragma_update(None, "journal_size_limit", checkpoint::KEPT)?;
            // Whoever reads opens the log, which is there from then on.
            writer.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
        }
        let (jobs, waiting) = mpsc::channel(MAX_WAITING);
        let (flusher, beside) = match path {
            Some(path) => {
                let (flusher, progress) = Flusher::start(&log_of(&writer, path), jobs.downgrade())?;
                checkpoint::start(&mut writer, path.to_owned(), progress.clone())?;
                let readers = Arc::new(Readers::new(path.to_owned()));
                (Some(flusher), Some(Beside { readers, progress }))
            }
            None => (None, None),
        };
        std::thread::Builder::new()
            .name("ostler-sqlite".into())
            .spawn(move || group::write_all(&Writer::new(&writer), flusher.as_ref(), waiting))
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { jobs, beside })
    }

    /// Runs an operation that writes.
    pub(crate) fn write<O: Operation>(
        &self,
        operation: O,
    ) -> impl Future<Output = Result<O::Output>> {
        self.on_writer(operation, false)
    }

    fn on_writer<O: Operation>(
        &self,
        operation: O,
        reads: bool,
    ) -> impl Future<Output = Result<O::Output>> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(WriterJob::new(operation, reads, answer));
        async move {
            let gone = || StoreError::Unavailable("the writer has stopped".into());
            self.jobs.send(Item::Job(job)).await.map_err(|_| gone())?;
            let (result, _operation) = answered.await.map_err(|_| gone())?;
            result
        }
    }

    /// Runs an operation that reads.
    pub(crate) async fn read<O: Operation>(&self, operation: O) -> Result<O::Output> {
        let beside = self.beside.as_ref().filter(|_| !O::EACH_TURN);
        let Some(Beside { readers, progress }) = beside.cloned() else {
            return self.on_writer(operation, true).await;
        };
        let turn = readers.turns.clone().acquire_owned().await;
        let read = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            readers.run(&operation)
        })
        .await
        .map_err(|error| StoreError::Backend(error.to_string()))?;
        progress.caught_up().await?;
        read
    }
}

/// Where SQLite keeps the log of a database file: beside the file itself, where
/// the path leads to it over a link.
fn log_of(writer: &Connection, path: &Path) -> PathBuf {
    let mut log = writer.path().map_or_else(|| path.as_os_str(), OsStr::new).to_owned();
    log.push("-wal");
    log.into()
}

fn connect(path: Option<&Path>) -> Result<Connection> {
    let connection = match path {
        Some(path) => Connection::open(path)?,
        None => Connection::open_in_memory()?,
    };
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    // The plan of a statement does not depend on its parameters, so that it is
    // made once and not again for other values.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // What savepoints need to undo stays in memory; in a file it would cost more
    // than the writes themselves.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.create_scalar_function("now_ms", 0, FunctionFlags::SQLITE_UTF8, |_| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Ok(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    })?;
    Ok(connection)
}
