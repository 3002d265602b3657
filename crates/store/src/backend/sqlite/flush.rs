//! Flushing the log to the disk, on a thread of its own: while one group of writes
//! waits for the disk, the next is written already.
//!
//! The writer's commits do not flush by themselves. A write is answered only after
//! a flush that began when it was in the log, so that an answer means what it
//! would mean if they did; and what was read beside the writer is answered only
//! when all that it could have seen is on the disk.

use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use tokio::sync::{mpsc, watch};

use super::job::{Item, Job, NotKept};
use crate::error::{Result, StoreError};

/// The most groups of writes that wait for the disk; then the writer waits, too.
const MOST: usize = 8;

/// What was written, and how far it is on the disk. Groups of writes are counted.
#[derive(Debug)]
pub(super) struct Progress {
    written: AtomicU64,
    flushed: watch::Sender<u64>,
    /// Why the disk is not trusted any more. What the system did not write once
    /// it may have forgotten, so nothing after that counts as written.
    failed: OnceLock<String>,
}

impl Progress {
    /// Waits until all that was written is on the disk.
    pub(super) async fn caught_up(&self) -> Result<()> {
        let written = self.written.load(Ordering::Acquire);
        if *self.flushed.borrow() < written {
            // The sender is here, so it does not end.
            let _ = self.flushed.subscribe().wait_for(|flushed| *flushed >= written).await;
        }
        self.failed().map_or(Ok(()), |why| Err(NotKept::ByDisk(why).into()))
    }

    /// Why nothing is kept any more, if that is so.
    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.get().map(String::as_str)
    }
}

/// A group of writes that are in the log.
struct Group {
    number: u64,
    jobs: Vec<Box<dyn Job>>,
}

/// The writer's side.
pub(super) struct Flusher {
    groups: SyncSender<Group>,
    progress: Arc<Progress>,
    /// The number of the last group that was handed over.
    handed: Cell<u64>,
}

impl Flusher {
    /// Starts the thread that flushes the log of a database file, and tells the
    /// writer whenever it has.
    pub(super) fn start(
        log: &Path,
        writer: mpsc::WeakSender<Item>,
    ) -> Result<(Self, Arc<Progress>)> {
        let unavailable = |error: std::io::Error| {
            StoreError::Unavailable(format!("cannot open {}: {error}", log.display()))
        };
        let log = File::open(log).map_err(unavailable)?;
        let (groups, written) = sync_channel(MOST);
        let progress = Arc::new(Progress {
            written: AtomicU64::new(0),
            flushed: watch::Sender::new(0),
            failed: OnceLock::new(),
        });
        let flushed = progress.clone();
        std::thread::Builder::new()
            .name("ostler-flush".into())
            .spawn(move || flush_all(&log, &written, &flushed, &writer))
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok((Self { groups, progress: progress.clone(), handed: Cell::new(0) }, progress))
    }

    /// Whether the disk has not yet all that was handed over.
    pub(super) fn is_busy(&self) -> bool {
        *self.progress.flushed.borrow() < self.handed.get()
    }

    /// Why nothing is kept any more, if that is so.
    pub(super) fn failed(&self) -> Option<&str> {
        self.progress.failed()
    }

    /// Says that a group is about to be written, before anybody can see it.
    pub(super) fn begin(&self) {
        self.progress.written.fetch_add(1, Ordering::AcqRel);
    }

    /// Has the group answered once it is on the disk.
    pub(super) fn flush(&self, jobs: Vec<Box<dyn Job>>) {
        let number = self.progress.written.load(Ordering::Acquire);
        self.handed.set(number);
        if let Err(refused) = self.groups.send(Group { number, jobs }) {
            answer(refused.0.jobs, self.progress.failed().or(Some("it has stopped")));
        }
    }
}

/// The thread's life: take what was written, flush, answer.
fn flush_all(
    log: &File,
    written: &Receiver<Group>,
    progress: &Progress,
    writer: &mpsc::WeakSender<Item>,
) {
    let _last = Last(progress);
    while let Ok(first) = written.recv() {
        let mut groups = vec![first];
        groups.extend(written.try_iter());
        // A group may have only writes that nobody waits for.
        if progress.failed().is_none()
            && groups.iter().any(|group| !group.jobs.is_empty())
            && let Err(error) = log.sync_data()
        {
            let _ = progress.failed.set(error.to_string());
        }
        let last = groups.last().map_or(0, |group| group.number);
        progress.flushed.send_replace(last);
        if let Some(writer) = writer.upgrade() {
            // Where it does not fit, something else wakes the writer.
            let _ = writer.try_send(Item::Flushed);
        }
        for group in groups {
            answer(group.jobs, progress.failed());
        }
    }
}

/// Nobody waits for a thread that is gone, however it went.
struct Last<'a>(&'a Progress);

impl Drop for Last<'_> {
    fn drop(&mut self) {
        let _ = self.0.failed.set("the thread that does it has stopped".to_owned());
        self.0.flushed.send_replace(u64::MAX);
    }
}

fn answer(jobs: Vec<Box<dyn Job>>, failed: Option<&str>) {
    for job in jobs {
        job.finish(failed.map_or(Ok(()), |why| Err(NotKept::ByDisk(why))));
    }
}
