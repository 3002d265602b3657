//! Flushes the write-ahead log to disk, on a thread of its own: while one group of
//! writes waits for the disk, the next is being written.
//!
//! The writer's commits do not flush. A write is answered after a flush that began
//! when it was in the log, so an answer means that the write is durable; and a read
//! on another connection is answered when all that it may have seen is on disk.

use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use tokio::sync::{mpsc, watch};

use super::job::{WriteFailure, WriterMessage};
use crate::backend::job::Request;
use crate::error::{Result, StoreError};

/// How many groups of writes may wait for the disk; the writer waits beyond that.
const MAX_GROUPS: usize = 8;

/// How many groups of writes were written, and how many of them flushed.
#[derive(Debug)]
pub(super) struct Progress {
    written: AtomicU64,
    flushed: watch::Sender<u64>,
    /// The first flush error. After it the system may have dropped pages, so no
    /// later write counts as durable.
    failed: OnceLock<String>,
}

impl Progress {
    /// Waits until everything written so far is on disk.
    pub(super) async fn wait_until_flushed(&self) -> Result<()> {
        let written = self.written.load(Ordering::Acquire);
        if *self.flushed.borrow() < written {
            // `self` owns the sender, so the channel stays open.
            let _ = self.flushed.subscribe().wait_for(|flushed| *flushed >= written).await;
        }
        self.failed().map_or(Ok(()), |why| Err(WriteFailure::Disk(why).into()))
    }

    /// Returns the flush error after which no write is durable.
    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.get().map(String::as_str)
    }
}

/// A committed group of writes whose callers wait for the disk.
struct Group {
    number: u64,
    jobs: Vec<Request>,
}

/// The writer's handle of the flush thread.
pub(super) struct Flusher {
    groups: SyncSender<Group>,
    progress: Arc<Progress>,
    /// The number of the last group passed to the thread.
    last_sent: Cell<u64>,
}

impl Flusher {
    /// Starts the thread that flushes the log of a database file and notifies the
    /// writer after each flush.
    pub(super) fn start(
        log: &Path,
        writer: mpsc::WeakSender<WriterMessage>,
    ) -> Result<(Self, Arc<Progress>)> {
        let unavailable = |error: std::io::Error| {
            StoreError::Unavailable(format!("cannot open {}: {error}", log.display()))
        };
        let log = File::open(log).map_err(unavailable)?;
        let (groups, queue) = sync_channel(MAX_GROUPS);
        let progress = Arc::new(Progress {
            written: AtomicU64::new(0),
            flushed: watch::Sender::new(0),
            failed: OnceLock::new(),
        });
        let thread_progress = progress.clone();
        std::thread::Builder::new()
            .name("ostler-flush".into())
            .spawn(move || run(&log, &queue, &thread_progress, &writer))
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok((Self { groups, progress: progress.clone(), last_sent: Cell::new(0) }, progress))
    }

    /// Returns whether groups are waiting for the disk.
    pub(super) fn is_busy(&self) -> bool {
        *self.progress.flushed.borrow() < self.last_sent.get()
    }

    /// Returns the flush error after which no write is durable.
    pub(super) fn failed(&self) -> Option<&str> {
        self.progress.failed()
    }

    /// Counts a group before it is written and others can see it.
    pub(super) fn begin(&self) {
        self.progress.written.fetch_add(1, Ordering::AcqRel);
    }

    /// Answers the group once it is on disk.
    pub(super) fn flush(&self, jobs: Vec<Request>) {
        let number = self.progress.written.load(Ordering::Acquire);
        self.last_sent.set(number);
        if let Err(unsent) = self.groups.send(Group { number, jobs }) {
            answer(unsent.0.jobs, self.progress.failed().or(Some("the flush thread has stopped")));
        }
    }
}

/// Flushes and answers groups until the writer stops.
fn run(
    log: &File,
    queue: &Receiver<Group>,
    progress: &Progress,
    writer: &mpsc::WeakSender<WriterMessage>,
) {
    let _guard = ExitGuard(progress);
    while let Ok(first) = queue.recv() {
        let mut groups = vec![first];
        groups.extend(queue.try_iter());
        // A group without jobs has only writes that are not durable.
        if progress.failed().is_none()
            && groups.iter().any(|group| !group.jobs.is_empty())
            && let Err(error) = log.sync_data()
        {
            let _ = progress.failed.set(error.to_string());
        }
        let last = groups.last().map_or(0, |group| group.number);
        progress.flushed.send_replace(last);
        if let Some(writer) = writer.upgrade() {
            // If the queue is full, another message wakes the writer.
            let _ = writer.try_send(WriterMessage::Flushed);
        }
        for group in groups {
            answer(group.jobs, progress.failed());
        }
    }
}

/// Wakes everybody who waits for the disk when the thread ends, even by a panic.
struct ExitGuard<'a>(&'a Progress);

impl Drop for ExitGuard<'_> {
    fn drop(&mut self) {
        let _ = self.0.failed.set("the flush thread has stopped".to_owned());
        self.0.flushed.send_replace(u64::MAX);
    }
}

fn answer(jobs: Vec<Request>, failed: Option<&str>) {
    for job in jobs {
        job.finish(failed.map_or(Ok(()), |why| Err(WriteFailure::Disk(why))));
    }
}
