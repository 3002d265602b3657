//! Checkpoints: copying the write-ahead log into the database file, on a thread of
//! its own.
//!
//! SQLite restarts the log only when all of it has been copied, which never happens
//! under steady load: new pages arrive during the checkpoint. So when the thread has
//! just copied most of a large log, the writer copies the rest after a commit. If
//! readers prevent that again and again, the thread blocks the writer until they are
//! done.
//!
//! The log may be as long as the database, so that a small one stays small on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::connect;
use super::flush::Progress;
use crate::error::{Result, StoreError};

/// Pages between two checkpoints of a large database: many, so that a page that changes
/// often is copied once.
const MAX_CHECKPOINT_PAGES: i32 = 8192;
/// Pages between two checkpoints of a small database.
const MIN_CHECKPOINT_PAGES: i32 = 1024;
/// After how many times these pages the writer tries to restart the log.
const RESTART: i32 = 3;
/// After how many times these pages the thread forces a restart.
const FORCE_RESTART: i32 = 9;
/// The size of a page, in bytes.
const PAGE_BYTES: u64 = 4096;
/// The size of the log file after a restart, in bytes.
pub(super) const MAX_LOG_BYTES: i64 = 32 << 20;

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
/// The thread has copied the pages that were in the log when it began.
const DONE: u8 = 2;

/// Starts the checkpoint thread of the writer's database.
pub(super) fn start(writer: &mut Connection, path: PathBuf, disk: Arc<Progress>) -> Result<()> {
    let state = Arc::new(AtomicU8::new(IDLE));
    let interval = Arc::new(AtomicI32::new(checkpoint_pages(&path)));
    let (requests, queue) = sync_channel(1);
    let (thread_state, thread_interval) = (state.clone(), interval.clone());
    std::thread::Builder::new()
        .name("ostler-checkpoint".into())
        .spawn(move || run(&path, &queue, &thread_state, &thread_interval))
        .map_err(|error| StoreError::Unavailable(error.to_string()))?;
    let mut next = interval.load(Ordering::Relaxed);
    writer.wal_hook(Some(move |log: &mut Wal, pages| {
        // Pages that the disk did not accept must not reach the file.
        if disk.failed().is_none() {
            let interval = interval.load(Ordering::Relaxed);
            next = after_commit(log, pages, interval, next, &state, &requests);
        }
        Ok(())
    }))?;
    Ok(())
}

/// The SQLite checkpoint mode that the thread uses.
enum CheckpointMode {
    /// As far as possible without waiting.
    Passive,
    /// The whole log, while readers and the writer wait.
    Restart,
}

/// Requests or runs a checkpoint after a commit. `pages` is the length of the log,
/// `interval` the pages between two checkpoints, `next` the length for the next request;
/// returns the new value of `next`.
fn after_commit(
    log: &mut Wal,
    pages: i32,
    interval: i32,
    next: i32,
    state: &AtomicU8,
    requests: &SyncSender<CheckpointMode>,
) -> i32 {
    if pages < interval {
        return interval;
    }
    let force_pages = FORCE_RESTART * interval;
    let done = state.load(Ordering::Acquire) == DONE;
    if done {
        state.store(IDLE, Ordering::Release);
    }
    if done && (RESTART * interval..force_pages).contains(&pages) {
        // This fails if a reader is active or the disk is full. The log then grows
        // until the next attempt, and a write that finds no space fails.
        let _ = log.checkpoint();
    } else if pages >= next && state.load(Ordering::Acquire) == IDLE {
        let restart = pages >= force_pages;
        let mode = if restart { CheckpointMode::Restart } else { CheckpointMode::Passive };
        state.store(RUNNING, Ordering::Release);
        if requests.try_send(mode).is_err() {
            state.store(IDLE, Ordering::Release);
        }
        return pages.saturating_add(interval);
    }
    next
}

/// Runs checkpoints until the writer stops.
fn run(path: &Path, queue: &Receiver<CheckpointMode>, state: &AtomicU8, interval: &AtomicI32) {
    let mut connection = None;
    while let Ok(mode) = queue.recv() {
        // The next request repeats a checkpoint that fails.
        let _ = checkpoint(path, &mode, &mut connection);
        interval.store(checkpoint_pages(path), Ordering::Relaxed);
        state.store(DONE, Ordering::Release);
    }
}

/// Returns the pages between two checkpoints: those of the database, within limits.
fn checkpoint_pages(path: &Path) -> i32 {
    let pages = std::fs::metadata(path).map_or(0, |file| file.len() / PAGE_BYTES);
    let pages = i32::try_from(pages).unwrap_or(MAX_CHECKPOINT_PAGES);
    pages.clamp(MIN_CHECKPOINT_PAGES, MAX_CHECKPOINT_PAGES)
}

/// Copies the whole log and empties its file, if nobody else uses the database.
pub(super) fn empty_log(path: &Path) -> Result<()> {
    let connection = connect(Some(path))?;
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}

fn checkpoint(
    path: &Path,
    mode: &CheckpointMode,
    connection: &mut Option<Connection>,
) -> Result<()> {
    let open = match connection.take() {
        Some(open) => open,
        None => connect(Some(path))?,
    };
    let pragma = match mode {
        CheckpointMode::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
        CheckpointMode::Restart => "PRAGMA wal_checkpoint(RESTART)",
    };
    let result = open.query_row(pragma, [], |_| Ok(()));
    *connection = Some(open);
    Ok(result?)
}
