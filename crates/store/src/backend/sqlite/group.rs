//! The writer thread: concurrent jobs share a transaction.
//!
//! If a job fails, the others of its group are run again with a savepoint for each,
//! so that no other job is lost. Savepoints copy every page that changes, so they are
//! used only for some groups after a failure. Reads run before the writes of their
//! group and are answered immediately; reads that join later are answered with the
//! writes.

use tokio::sync::mpsc;

use super::flush::Flusher;
use super::job::{WriteFailure, WriterMessage};
use super::prepared::Writer;
use crate::backend::job::Request;

/// How many jobs may share a transaction.
const MAX_GROUP: usize = 512;
/// How many groups use savepoints after a failure.
const SAVEPOINT_GROUPS: u32 = 16;

/// Runs the jobs of the queue until it is closed.
pub(super) fn write_all(
    writer: &Writer<'_>,
    flusher: Option<&Flusher>,
    mut queue: mpsc::Receiver<WriterMessage>,
) {
    let mut savepoint_groups = 0;
    while let Some(first) = queue.blocking_recv() {
        let mut group = Vec::from_iter(first.request());
        while group.len() < MAX_GROUP
            && let Ok(next) = queue.try_recv()
        {
            group.extend(next.request());
        }
        if let Some(why) = flusher.and_then(Flusher::failed) {
            group.drain(..).for_each(|job| job.finish(Err(WriteFailure::Disk(why))));
        }
        group = read_group(writer, group);
        while !group.is_empty() {
            let mut more = || next(flusher, &mut queue);
            group = write_group(writer, flusher, group, &mut more, &mut savepoint_groups);
        }
    }
}

/// Returns the next job of the queue; waits for one only while the disk is busy.
fn next(flusher: Option<&Flusher>, queue: &mut mpsc::Receiver<WriterMessage>) -> Option<Request> {
    loop {
        let message = match flusher {
            Some(flusher) if flusher.is_busy() => queue.blocking_recv()?,
            _ => queue.try_recv().ok()?,
        };
        if let WriterMessage::Request(request) = message {
            return Some(request);
        }
    }
}

/// Runs and answers the reads of a group in one snapshot, and returns its writes.
fn read_group(writer: &Writer<'_>, group: Vec<Request>) -> Vec<Request> {
    let (reads, writes): (Vec<_>, Vec<_>) = group.into_iter().partition(Request::reads);
    if reads.is_empty() {
        return writes;
    }
    let begun = writer.execute("BEGIN");
    for mut job in reads {
        if begun.is_ok() {
            job.run(writer);
        }
        job.finish(begun.as_ref().map(|_| ()).map_err(WriteFailure::Sqlite));
    }
    if !writer.connection.is_autocommit() {
        let _ = writer.execute("COMMIT");
    }
    writes
}

/// How the transaction of a group ended.
enum TransactionEnd {
    /// Committed; `failed` if a job of a group with savepoints failed.
    Committed { failed: bool },
    /// The job at this index failed and nothing was written.
    Failed(usize),
    /// SQLite rolled the transaction back during the job at this index. `unnoticed`
    /// if the job reported success.
    RolledBack { at: usize, unnoticed: bool },
}

/// Writes and answers a group; returns the jobs that must be run again.
/// `savepoint_groups` is how many groups still use savepoints.
fn write_group(
    writer: &Writer<'_>,
    flusher: Option<&Flusher>,
    mut group: Vec<Request>,
    more: &mut impl FnMut() -> Option<Request>,
    savepoint_groups: &mut u32,
) -> Vec<Request> {
    if let Some(flusher) = flusher {
        flusher.begin();
    }
    let end = if *savepoint_groups > 0 {
        run_with_savepoints(writer, &mut group)
    } else {
        run_without_savepoints(writer, &mut group, more)
    };
    if !writer.connection.is_autocommit() {
        let _ = writer.connection.execute_batch("ROLLBACK");
    }
    let UnansweredJobs { flush, retry } = answer(end, group, savepoint_groups, flusher.is_some());
    if let Some(flusher) = flusher {
        flusher.flush(flush);
    }
    retry
}

/// The jobs of a group that are not answered yet.
#[derive(Default)]
struct UnansweredJobs {
    /// Committed, but not on disk.
    flush: Vec<Request>,
    retry: Vec<Request>,
}

/// Answers the jobs that need not wait for the disk or run again.
fn answer(
    end: rusqlite::Result<TransactionEnd>,
    mut group: Vec<Request>,
    savepoint_groups: &mut u32,
    has_flusher: bool,
) -> UnansweredJobs {
    match end {
        Ok(TransactionEnd::Committed { failed }) => {
            *savepoint_groups =
                if failed { SAVEPOINT_GROUPS } else { savepoint_groups.saturating_sub(1) };
            let (flush, now): (Vec<_>, Vec<_>) =
                group.into_iter().partition(|job| has_flusher && job.is_durable());
            now.into_iter().for_each(|job| job.finish(Ok(())));
            UnansweredJobs { flush, ..UnansweredJobs::default() }
        }
        Ok(TransactionEnd::Failed(_)) if group.len() > 1 => {
            *savepoint_groups = SAVEPOINT_GROUPS;
            UnansweredJobs { retry: group, ..UnansweredJobs::default() }
        }
        Ok(TransactionEnd::Failed(at)) => {
            group.remove(at).finish(Ok(()));
            UnansweredJobs { retry: group, ..UnansweredJobs::default() }
        }
        Ok(TransactionEnd::RolledBack { at, unnoticed }) => {
            group.remove(at).finish(if unnoticed { Err(WriteFailure::RolledBack) } else { Ok(()) });
            UnansweredJobs { retry: group, ..UnansweredJobs::default() }
        }
        Err(error) => {
            group.into_iter().for_each(|job| job.finish(Err(WriteFailure::Sqlite(&error))));
            UnansweredJobs::default()
        }
    }
}

/// Runs all jobs, and further ones from `more`; commits unless one fails.
fn run_without_savepoints(
    writer: &Writer<'_>,
    group: &mut Vec<Request>,
    more: &mut impl FnMut() -> Option<Request>,
) -> rusqlite::Result<TransactionEnd> {
    writer.execute("BEGIN IMMEDIATE")?;
    for at in 0..MAX_GROUP {
        if at == group.len() {
            group.extend(more());
        }
        let Some(job) = group.get_mut(at) else { break };
        let succeeded = job.run(writer);
        if writer.connection.is_autocommit() {
            return Ok(TransactionEnd::RolledBack { at, unnoticed: succeeded });
        }
        if !succeeded && !job.reads() {
            return Ok(TransactionEnd::Failed(at));
        }
    }
    writer.execute("COMMIT")?;
    Ok(TransactionEnd::Committed { failed: false })
}

/// Runs all jobs and commits those that succeed.
fn run_with_savepoints(
    writer: &Writer<'_>,
    group: &mut [Request],
) -> rusqlite::Result<TransactionEnd> {
    let mut failed = false;
    writer.execute("BEGIN IMMEDIATE")?;
    for (at, job) in group.iter_mut().enumerate() {
        writer.execute("SAVEPOINT job")?;
        let succeeded = job.run(writer);
        if writer.connection.is_autocommit() {
            return Ok(TransactionEnd::RolledBack { at, unnoticed: succeeded });
        }
        if !succeeded {
            failed = true;
            writer.execute("ROLLBACK TO job")?;
        }
        writer.execute("RELEASE job")?;
    }
    writer.execute("COMMIT")?;
    Ok(TransactionEnd::Committed { failed })
}
