//! SQLite: one writer thread, and other connections that read.
//!
//! Concurrent writes share a transaction ([`group`]) and so one flush to disk; each
//! is answered after the flush ([`flush`]). While the disk is busy with one
//! transaction, the next one collects further writes: the larger it is, the fewer
//! pages are written more than once. Reads of every turn run on the writer thread
//! too.

mod checkpoint;
mod flush;
mod group;
mod job;
mod prepared;
mod readers;
mod tx;

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use flush::{Flusher, Progress};
use job::WriterMessage;
use prepared::Writer;
use readers::Readers;
pub(crate) use tx::SqliteTx;

use super::job::{Access, Request};
use super::{Refusal, Submission};
use crate::error::{Result, StoreError};

/// The capacity of the writer's queue; callers wait while it is full.
const QUEUE_CAPACITY: usize = 4096;
/// How long another process may lock the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The page cache; SQLite reads a negative number as KiB. Much more would not help:
/// a commit visits all cached pages, and the system caches the file as well.
const CACHE_KIB: i64 = -16 * 1024;
/// The number of prepared statements that a reading connection caches.
const CACHED_STATEMENTS: usize = 256;

/// A SQLite database.
#[derive(Debug, Clone)]
pub(crate) struct Sqlite {
    jobs: mpsc::Sender<WriterMessage>,
    /// None for a database in memory, which only the writer's connection can see.
    file: Option<DatabaseFile>,
}

/// What a database file has besides the writer.
#[derive(Debug, Clone)]
struct DatabaseFile {
    readers: Arc<Readers>,
    progress: Arc<Progress>,
}

impl Sqlite {
    /// Opens a file, or a database in memory.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        path.into_iter().for_each(create_private);
        let mut writer = connect(path)?;
        if path.is_some() {
            let mode: String =
                writer.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
            if mode != "wal" {
                let why = format!("the file cannot have a write-ahead log, only `{mode}`");
                return Err(StoreError::Unavailable(why));
            }
            // The flusher syncs the log after commits.
            writer.pragma_update(None, "synchronous", "NORMAL")?;
            writer.pragma_update(None, "cache_size", CACHE_KIB)?;
            writer.pragma_update(None, "journal_size_limit", checkpoint::MAX_LOG_BYTES)?;
            // The first read creates the log.
            writer.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
        }
        let (jobs, queue) = mpsc::channel(QUEUE_CAPACITY);
        let (flusher, file) = match path {
            Some(path) => {
                let (flusher, progress) =
                    Flusher::start(&log_path(&writer, path), jobs.downgrade())?;
                checkpoint::start(&mut writer, path.to_owned(), progress.clone())?;
                let readers = Arc::new(Readers::new(path.to_owned()));
                (Some(flusher), Some(DatabaseFile { readers, progress }))
            }
            None => (None, None),
        };
        std::thread::Builder::new()
            .name("ostler-sqlite".into())
            .spawn(move || group::write_all(&Writer::new(&writer), flusher.as_ref(), queue))
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { jobs, file })
    }

    /// Empties the write-ahead log of a file, after the last write.
    pub(crate) async fn empty_log(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let readers = file.readers.clone();
        let emptied = tokio::task::spawn_blocking(move || checkpoint::empty_log(readers.path()));
        emptied.await.map_err(|error| StoreError::Backend(error.to_string()))?
    }

    /// Passes a request to its thread.
    pub(crate) fn submit(self, request: Request) -> Option<Submission> {
        match self.file {
            Some(file) if request.access == Access::Read => Some(Box::pin(file.read(request))),
            _ => match self.jobs.try_send(WriterMessage::Request(request)) {
                Err(TrySendError::Full(request)) => Some(Box::pin(async move {
                    // If the thread has stopped, the caller learns it by the response.
                    let _ = self.jobs.send(request).await;
                    Ok(())
                })),
                Ok(()) | Err(TrySendError::Closed(_)) => None,
            },
        }
    }
}

impl DatabaseFile {
    /// Reads on a connection of its own, and waits until all that the operation may
    /// have seen is on disk.
    async fn read(self, request: Request) -> Result<()> {
        let Self { readers, progress } = self;
        let permit = readers.permits.clone().acquire_owned().await;
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            readers.run(request);
        })
        .await
        .map_err(|error| StoreError::Backend(error.to_string()))?;
        progress.wait_until_flushed().await
    }
}

/// Creates a missing file so that only its owner can read it. SQLite gives its other files
/// the same permissions, and reports what is wrong with the path.
fn create_private(path: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _exists = options.open(path);
}

/// Returns the path of the write-ahead log, next to the real file if the path is a
/// link.
fn log_path(writer: &Connection, path: &Path) -> PathBuf {
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
    // Query plans do not depend on parameters, so a statement is planned once.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // Savepoints keep their undo data in memory; in a file it would cost more than
    // the writes themselves.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.create_scalar_function("now_ms", 0, FunctionFlags::SQLITE_UTF8, |_| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Ok(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    })?;
    connection.create_scalar_function("refuse", 1, FunctionFlags::SQLITE_UTF8, |context| {
        let why = format!("{}{}", Refusal::SQLITE_PREFIX, context.get::<String>(0)?);
        Err::<i64, _>(rusqlite::Error::UserFunctionError(why.into()))
    })?;
    Ok(connection)
}
