//! Checkpoints: copying the write-ahead log into the database file, on a thread of
//! its own.
//!
//! SQLite restarts the log only when all of it has been copied, which never happens
//! under steady load: new pages arrive during the checkpoint. So when the thread has
//! just copied most of a large log, the writer copies the rest after a commit. If
//! readers prevent that again and again, the thread blocks the writer until they are
//! done.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::connect;
use super::flush::Progress;
use crate::error::{Result, StoreError};

/// Pages between two checkpoints: many, so that a page that changes often is copied
/// once.
const CHECKPOINT_PAGES: i32 = 8192;
/// Pages at which the writer tries to restart the log.
const RESTART_PAGES: i32 = 3 * CHECKPOINT_PAGES;
/// Pages at which the thread forces a restart.
const FORCE_RESTART_PAGES: i32 = 3 * RESTART_PAGES;
/// The size of the log file after a restart, in bytes.
pub(super) const MAX_LOG_BYTES: i64 = 128 << 20;

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
/// The thread has copied the pages that were in the log when it began.
const DONE: u8 = 2;

/// Starts the checkpoint thread of the writer's database.
pub(super) fn start(writer: &mut Connection, path: PathBuf, disk: Arc<Progress>) -> Result<()> {
    let state = Arc::new(AtomicU8::new(IDLE));
    let (requests, queue) = sync_channel(1);
    let thread_state = state.clone();
    std::thread::Builder::new()
        .name("ostler-checkpoint".into())
        .spawn(move || run(&path, &queue, &thread_state))
        .map_err(|error| StoreError::Unavailable(error.to_string()))?;
    let mut next = CHECKPOINT_PAGES;
    writer.wal_hook(Some(move |log: &mut Wal, pages| {
        // Pages that the disk did not accept must not reach the file.
        if disk.failed().is_none() {
            next = after_commit(log, pages, next, &state, &requests);
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
/// `next` the length for the next request; returns the new value of `next`.
fn after_commit(
    log: &mut Wal,
    pages: i32,
    next: i32,
    state: &AtomicU8,
    requests: &SyncSender<CheckpointMode>,
) -> i32 {
    if pages < CHECKPOINT_PAGES {
        return CHECKPOINT_PAGES;
    }
    let done = state.load(Ordering::Acquire) == DONE;
    if done {
        state.store(IDLE, Ordering::Release);
    }
    if done && (RESTART_PAGES..FORCE_RESTART_PAGES).contains(&pages) {
        // This fails if a reader is active or the disk is full. The log then grows
        // until the next attempt, and a write that finds no space fails.
        let _ = log.checkpoint();
    } else if pages >= next && state.load(Ordering::Acquire) == IDLE {
        let restart = pages >= FORCE_RESTART_PAGES;
        let mode = if restart { CheckpointMode::Restart } else { CheckpointMode::Passive };
        state.store(RUNNING, Ordering::Release);
        if requests.try_send(mode).is_err() {
            state.store(IDLE, Ordering::Release);
        }
        return pages.saturating_add(CHECKPOINT_PAGES);
    }
    next
}

/// Runs checkpoints until the writer stops.
fn run(path: &Path, queue: &Receiver<CheckpointMode>, state: &AtomicU8) {
    let mut connection = None;
    while let Ok(mode) = queue.recv() {
        // The next request repeats a checkpoint that fails.
        let _ = checkpoint(path, &mode, &mut connection);
        state.store(DONE, Ordering::Release);
    }
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
