//! SQLite: one thread that writes, connections beside it that read.
//!
//! Writes that wait at the same time share a transaction and so one flush to
//! the disk, and each is answered only after that ([`flush`]). While the disk is
//! busy with one transaction, the next takes up whatever else comes: the larger
//! it is, the fewer pages are written more than once. One that fails takes
//! nothing else down: the others are written again, now with a savepoint for
//! each. Savepoints cost a copy of every page that is changed, so they are there
//! only where something has failed a moment ago. What every turn reads is read on
//! that thread, too, before the writes that wait with it, and answered at once.

mod checkpoint;
mod flush;
mod prepared;

use std::ffi::OsStr;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement as Prepared, params_from_iter};
use tokio::sync::{Semaphore, mpsc, oneshot};

use flush::{Flusher, Progress};
use prepared::Writer;

use super::sql::Sql;
use super::value::{Row, Value};
use super::{Operation, Statement, Tx};
use crate::error::{Result, StoreError};

/// The most writes that share a transaction.
const MAX_GROUP: usize = 512;
/// The most writes that wait; beyond it callers wait to be let in.
const MAX_WAITING: usize = 4096;
/// The most that read at the same time.
const READERS: usize = 8;
/// How long another process may hold the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Memory for pages of the file, as SQLite wants it: negative, in KiB.
const CACHE_KIB: i64 = -64 * 1024;
/// Prepared statements that a reading connection keeps.
const STATEMENTS: usize = 256;
/// Groups that have savepoints after something failed.
const CAREFUL_GROUPS: u32 = 16;

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
            .spawn(move || write_all(&Writer::new(&writer), flusher.as_ref(), waiting))
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { jobs, beside })
    }

    /// Runs an operation that writes.
    pub(crate) async fn write<O: Operation>(&self, operation: O) -> Result<O::Output> {
        self.on_writer(operation, false).await
    }

    async fn on_writer<O: Operation>(&self, operation: O, reads: bool) -> Result<O::Output> {
        let (answer, answered) = oneshot::channel();
        let job = WriterJob { operation, reads, result: None, answer };
        let gone = || StoreError::Unavailable("the writer has stopped".into());
        self.jobs.send(Item::Job(Box::new(job))).await.map_err(|_| gone())?;
        // The operation comes back with the answer, so that it is not the
        // writer who spends time on freeing it.
        let (result, _operation) = answered.await.map_err(|_| gone())?;
        result
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

/// Why what was done is not kept.
#[derive(Clone, Copy)]
enum NotKept<'a> {
    /// SQLite refused the transaction.
    BySqlite(&'a rusqlite::Error),
    /// SQLite gave up the transaction while it was done.
    GivenUp,
    /// The disk refused a flush.
    ByDisk(&'a str),
}

impl From<NotKept<'_>> for StoreError {
    fn from(why: NotKept<'_>) -> Self {
        match why {
            NotKept::BySqlite(error) => error.into(),
            NotKept::GivenUp => Self::Backend("SQLite gave up the transaction".into()),
            NotKept::ByDisk(why) => Self::Unavailable(format!(
                "the disk refused to keep what was written ({why}); look after it, then start anew"
            )),
        }
    }
}

/// What comes to the writer.
enum Item {
    /// Something to do.
    Job(Box<dyn Job>),
    /// The disk has what it was given.
    Flushed,
}

/// Something that waits for the writer, and if it writes for the commit.
trait Job: Send {
    /// Whether it only reads.
    fn reads(&self) -> bool;
    /// Whether its answer waits until it is on the disk.
    fn is_flushed(&self) -> bool;
    /// Does it; says whether what it did is to be kept.
    fn run(&mut self, writer: &Writer<'_>) -> bool;
    /// Answers, after the commit or its failure.
    fn finish(self: Box<Self>, committed: std::result::Result<(), NotKept<'_>>);
}

struct WriterJob<O: Operation> {
    operation: O,
    reads: bool,
    result: Option<Result<O::Output>>,
    answer: oneshot::Sender<(Result<O::Output>, O)>,
}

impl<O: Operation> Job for WriterJob<O> {
    fn reads(&self) -> bool {
        self.reads
    }

    fn is_flushed(&self) -> bool {
        O::FLUSHED && !self.reads
    }

    fn run(&mut self, writer: &Writer<'_>) -> bool {
        let tx = SqliteTx::Write(writer);
        let result = catch_unwind(AssertUnwindSafe(|| finish_now(self.operation.run(&tx))))
            .unwrap_or_else(|_| Err(StoreError::Backend("an operation panicked".into())));
        let keep = result.is_ok();
        self.result = Some(result);
        keep
    }

    fn finish(self: Box<Self>, committed: std::result::Result<(), NotKept<'_>>) {
        let result = match (committed, self.result) {
            (Ok(()), Some(result)) => result,
            (Err(error), _) => Err(error.into()),
            (Ok(()), None) => Err(StoreError::Backend("an operation did not run".into())),
        };
        // Nobody may be waiting any more; the write stands all the same.
        let _ = self.answer.send((result, self.operation));
    }
}

/// The writer's life: take what waits, do it, commit, answer.
fn write_all(writer: &Writer<'_>, flusher: Option<&Flusher>, mut waiting: mpsc::Receiver<Item>) {
    let mut careful = 0;
    while let Some(first) = waiting.blocking_recv() {
        let mut group = Vec::from_iter(first.job());
        while group.len() < MAX_GROUP
            && let Ok(next) = waiting.try_recv()
        {
            group.extend(next.job());
        }
        if let Some(why) = flusher.and_then(Flusher::failed) {
            group.drain(..).for_each(|job| job.finish(Err(NotKept::ByDisk(why))));
        }
        group = read_group(writer, group);
        while !group.is_empty() {
            let mut more = || flusher.and_then(|flusher| while_flushing(flusher, &mut waiting));
            group = write_group(writer, flusher, group, &mut more, &mut careful);
        }
    }
}

impl Item {
    fn job(self) -> Option<Box<dyn Job>> {
        match self {
            Self::Job(job) => Some(job),
            Self::Flushed => None,
        }
    }
}

/// What else comes as long as the disk is busy.
fn while_flushing(flusher: &Flusher, waiting: &mut mpsc::Receiver<Item>) -> Option<Box<dyn Job>> {
    while flusher.is_busy() {
        if let Item::Job(job) = waiting.blocking_recv()? {
            return Some(job);
        }
    }
    None
}

/// Reads what is to be read, all of it at one moment, answers that, and returns
/// what is to be written.
fn read_group(writer: &Writer<'_>, group: Vec<Box<dyn Job>>) -> Vec<Box<dyn Job>> {
    let (reads, writes): (Vec<_>, Vec<_>) = group.into_iter().partition(|job| job.reads());
    if reads.is_empty() {
        return writes;
    }
    let begun = writer.execute("BEGIN");
    for mut job in reads {
        if begun.is_ok() {
            job.run(writer);
        }
        job.finish(begun.as_ref().map(|_| ()).map_err(NotKept::BySqlite));
    }
    if !writer.connection.is_autocommit() {
        let _ = writer.execute("COMMIT");
    }
    writes
}

/// How a transaction of a group ended.
enum Ended {
    /// It is committed. In groups with savepoints: whether a job failed.
    Committed { failed: bool },
    /// This job failed and nothing is written.
    Failed(usize),
    /// SQLite gave the whole transaction up during this job, which may not have
    /// noticed.
    GaveUp { at: usize, unnoticed: bool },
}

/// Writes a group and answers it, or returns those jobs that must be tried
/// again. `careful` is how many groups still get savepoints.
fn write_group(
    writer: &Writer<'_>,
    flusher: Option<&Flusher>,
    mut group: Vec<Box<dyn Job>>,
    more: &mut impl FnMut() -> Option<Box<dyn Job>>,
    careful: &mut u32,
) -> Vec<Box<dyn Job>> {
    if let Some(flusher) = flusher {
        flusher.begin();
    }
    let written = if *careful > 0 {
        try_each(writer, &mut group)
    } else {
        try_together(writer, &mut group, more)
    };
    if !writer.connection.is_autocommit() {
        let _ = writer.connection.execute_batch("ROLLBACK");
    }
    let Written { on_their_way, again } = settle(written, group, careful, flusher.is_some());
    if let Some(flusher) = flusher {
        flusher.flush(on_their_way);
    }
    again
}

/// What becomes of the jobs of a group that are not answered yet.
#[derive(Default)]
struct Written {
    /// They are committed, and answered when they are on the disk.
    on_their_way: Vec<Box<dyn Job>>,
    /// They must be tried again.
    again: Vec<Box<dyn Job>>,
}

/// Answers those jobs that wait for nothing more.
fn settle(
    written: rusqlite::Result<Ended>,
    mut group: Vec<Box<dyn Job>>,
    careful: &mut u32,
    flushed: bool,
) -> Written {
    match written {
        Ok(Ended::Committed { failed }) => {
            *careful = if failed { CAREFUL_GROUPS } else { careful.saturating_sub(1) };
            let (on_their_way, now): (Vec<_>, Vec<_>) =
                group.into_iter().partition(|job| flushed && job.is_flushed());
            now.into_iter().for_each(|job| job.finish(Ok(())));
            Written { on_their_way, ..Written::default() }
        }
        Ok(Ended::Failed(_)) if group.len() > 1 => {
            *careful = CAREFUL_GROUPS;
            Written { again: group, ..Written::default() }
        }
        Ok(Ended::Failed(culprit)) => {
            group.remove(culprit).finish(Ok(()));
            Written { again: group, ..Written::default() }
        }
        Ok(Ended::GaveUp { at, unnoticed }) => {
            group.remove(at).finish(if unnoticed { Err(NotKept::GivenUp) } else { Ok(()) });
            Written { again: group, ..Written::default() }
        }
        Err(error) => {
            group.into_iter().for_each(|job| job.finish(Err(NotKept::BySqlite(&error))));
            Written::default()
        }
    }
}

/// Runs every job, and more as they come, and commits, unless one fails.
fn try_together(
    writer: &Writer<'_>,
    group: &mut Vec<Box<dyn Job>>,
    more: &mut impl FnMut() -> Option<Box<dyn Job>>,
) -> rusqlite::Result<Ended> {
    writer.execute("BEGIN IMMEDIATE")?;
    for at in 0..MAX_GROUP {
        if at == group.len() {
            group.extend(more());
        }
        let Some(job) = group.get_mut(at) else { break };
        let keep = job.run(writer);
        if writer.connection.is_autocommit() {
            return Ok(Ended::GaveUp { at, unnoticed: keep });
        }
        if !keep {
            return Ok(Ended::Failed(at));
        }
    }
    writer.execute("COMMIT")?;
    Ok(Ended::Committed { failed: false })
}

/// Runs every job and commits what did not fail.
fn try_each(writer: &Writer<'_>, group: &mut [Box<dyn Job>]) -> rusqlite::Result<Ended> {
    let mut failed = false;
    writer.execute("BEGIN IMMEDIATE")?;
    for (at, job) in group.iter_mut().enumerate() {
        writer.execute("SAVEPOINT job")?;
        let keep = job.run(writer);
        if writer.connection.is_autocommit() {
            return Ok(Ended::GaveUp { at, unnoticed: keep });
        }
        if !keep {
            failed = true;
            writer.execute("ROLLBACK TO job")?;
        }
        writer.execute("RELEASE job")?;
    }
    writer.execute("COMMIT")?;
    Ok(Ended::Committed { failed })
}

/// Runs a future that never waits: everything on SQLite is done when called.
fn finish_now<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(StoreError::Backend("an operation waited for something".into())),
    }
}

/// Connections that read while the writer writes.
#[derive(Debug)]
struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
}

impl Readers {
    fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::new(Vec::new()), turns: Arc::new(Semaphore::new(READERS)) }
    }

    fn run<O: Operation>(&self, operation: &O) -> Result<O::Output> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let connection = match taken {
            Some(connection) => connection,
            None => self.connect()?,
        };
        // One snapshot for all of an operation's queries.
        connection.prepare_cached("BEGIN")?.execute([])?;
        let result = finish_now(operation.run(&SqliteTx::Read(&connection)));
        // A connection that cannot end its transaction is not used again.
        if connection.execute_batch("COMMIT").is_ok() {
            idle().push(connection);
        }
        result
    }

    fn connect(&self) -> Result<Connection> {
        let connection = connect(Some(&self.path))?;
        connection.pragma_update(None, "query_only", "ON")?;
        Ok(connection)
    }
}

/// The writer's transaction, or that of a connection which reads.
enum SqliteTx<'t, 'c> {
    Write(&'t Writer<'c>),
    Read(&'t Connection),
}

impl SqliteTx<'_, '_> {
    fn prepared<T>(
        &self,
        text: &'static str,
        run: impl FnOnce(&mut Prepared<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        Ok(match self {
            Self::Write(writer) => writer.prepared(text, run)?,
            Self::Read(connection) => run(&mut *connection.prepare_cached(text)?)?,
        })
    }
}

impl Tx for SqliteTx<'_, '_> {
    async fn execute(&self, sql: &'static Sql, params: &[Value]) -> Result<u64> {
        self.prepared(sql.sqlite, |statement| {
            if !statement.readonly() {
                return Ok(statement.execute(params_from_iter(params))? as u64);
            }
            let (mut rows, mut found) = (statement.query(params_from_iter(params))?, 0);
            while rows.next()?.is_some() {
                found += 1;
            }
            Ok(found)
        })
    }

    async fn query(&self, sql: &'static Sql, params: &[Value]) -> Result<Vec<Row>> {
        self.prepared(sql.sqlite, |statement| {
            let columns = statement.column_count();
            let mut rows = statement.query(params_from_iter(params))?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let value = |column| Ok(owned(row.get_ref(column)?));
                all.push(Row((0..columns).map(value).collect::<rusqlite::Result<_>>()?));
            }
            Ok(all)
        })
    }

    async fn query_in_order(&self, queries: &[(&'static Sql, &[Value])]) -> Result<Vec<Vec<Row>>> {
        let mut answers = Vec::with_capacity(queries.len());
        for (sql, params) in queries {
            answers.push(self.query(sql, params).await?);
        }
        Ok(answers)
    }

    async fn batch(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        let mut touched = Vec::with_capacity(batch.len());
        for statement in batch {
            let rows = self.execute(statement.sql, &statement.params).await?;
            if rows == 0
                && let Some(refusal) = statement.must
            {
                return Err(refusal.into());
            }
            touched.push(rows);
        }
        Ok(touched)
    }

    async fn finish(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        self.batch(batch).await
    }

    async fn script(&self, sql: &'static Sql) -> Result<()> {
        let connection = match self {
            Self::Write(writer) => writer.connection,
            Self::Read(connection) => connection,
        };
        Ok(connection.execute_batch(sql.sqlite)?)
    }
}

fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Text(value.to_string()),
        ValueRef::Text(value) => Value::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => Value::Bytes(value.to_vec()),
    }
}
