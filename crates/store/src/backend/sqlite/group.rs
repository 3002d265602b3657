//! The thread that writes: jobs that wait at the same time share a transaction.
//!
//! One that fails takes nothing else down: the others are written again, now with
//! a savepoint for each. Savepoints cost a copy of every page that is changed, so
//! they are there only where something has failed a moment ago. What only reads is
//! read before the writes that wait with it, and answered at once; what comes later
//! is answered with the writes.

use tokio::sync::mpsc;

use super::flush::Flusher;
use super::job::{Item, Job, NotKept};
use super::prepared::Writer;

/// The most writes that share a transaction.
const MAX_GROUP: usize = 512;
/// Groups that have savepoints after something failed.
const CAREFUL_GROUPS: u32 = 16;

/// The writer's life: take what waits, do it, commit, answer.
pub(super) fn write_all(
    writer: &Writer<'_>,
    flusher: Option<&Flusher>,
    mut waiting: mpsc::Receiver<Item>,
) {
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
            let mut more = || next(flusher, &mut waiting);
            group = write_group(writer, flusher, group, &mut more, &mut careful);
        }
    }
}

/// What waits by now, or comes as long as the disk is busy.
fn next(flusher: Option<&Flusher>, waiting: &mut mpsc::Receiver<Item>) -> Option<Box<dyn Job>> {
    loop {
        let item = match flusher {
            Some(flusher) if flusher.is_busy() => waiting.blocking_recv()?,
            _ => waiting.try_recv().ok()?,
        };
        if let Item::Job(job) = item {
            return Some(job);
        }
    }
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
        if !keep && !job.reads() {
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
