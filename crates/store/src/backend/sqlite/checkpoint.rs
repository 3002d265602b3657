//! Moving the log into the file, on a thread of its own.
//!
//! The log begins anew only when all of it has been moved, and while much is
//! written it never is: what comes while the thread moves is left over. So from
//! time to time, when the thread has just moved most, the writer moves the rest.
//! Where readers were in the way of that again and again, the thread makes the
//! writer wait until they are done.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::connect;
use super::flush::Progress;
use crate::error::{Result, StoreError};

/// After so many more pages in the log they are moved into the file: rarely, so
/// that a page which is written often is moved once.
const PAGES: i32 = 8192;
/// Pages at which the log is to begin anew.
const MANY: i32 = 3 * PAGES;
/// Pages at which everybody waits until it does.
const TOO_MANY: i32 = 3 * MANY;
/// The most that the log takes on the disk once it has begun anew, in bytes.
pub(super) const KEPT: i64 = 128 << 20;

/// Nobody moves anything.
const IDLE: u8 = 0;
/// The thread does.
const MOVING: u8 = 1;
/// It has moved what there was when it began.
const MOVED: u8 = 2;

/// Has the log of the writer's database moved from now on.
pub(super) fn start(writer: &mut Connection, path: PathBuf, disk: Arc<Progress>) -> Result<()> {
    let state = Arc::new(AtomicU8::new(IDLE));
    let (wake, woken) = sync_channel(1);
    let moving = state.clone();
    std::thread::Builder::new()
        .name("ostler-checkpoint".into())
        .spawn(move || move_all(&path, &woken, &moving))
        .map_err(|error| StoreError::Unavailable(error.to_string()))?;
    let mut next = PAGES;
    writer.wal_hook(Some(move |log: &mut Wal, pages| {
        // What the disk did not take must not reach the file.
        if disk.failed().is_none() {
            next = committed(log, pages, next, &state, &wake);
        }
        Ok(())
    }))?;
    Ok(())
}

/// How the thread moves the log.
enum How {
    /// As far as nobody is in the way.
    Passing,
    /// All of it; everybody waits.
    Insisting,
}

/// After each commit: `pages` is how many there are in the log, and at `next` of
/// them something is to be done. Says at how many the next time.
fn committed(
    log: &mut Wal,
    pages: i32,
    next: i32,
    state: &AtomicU8,
    wake: &SyncSender<How>,
) -> i32 {
    if pages < PAGES {
        return PAGES;
    }
    let moved = state.load(Ordering::Acquire) == MOVED;
    if moved {
        state.store(IDLE, Ordering::Release);
    }
    if moved && (MANY..TOO_MANY).contains(&pages) {
        // Somebody who reads may be in the way, or the disk be full: then the
        // log grows until the next time, and a write that finds no room fails.
        let _ = log.checkpoint();
    } else if pages >= next && state.load(Ordering::Acquire) == IDLE {
        let how = if pages < TOO_MANY { How::Passing } else { How::Insisting };
        state.store(MOVING, Ordering::Release);
        if wake.try_send(how).is_err() {
            state.store(IDLE, Ordering::Release);
        }
        return pages.saturating_add(PAGES);
    }
    next
}

/// The thread's life.
fn move_all(path: &Path, woken: &Receiver<How>, state: &AtomicU8) {
    let mut connection = None;
    while let Ok(how) = woken.recv() {
        // Where it fails, the next time comes.
        let _ = move_once(path, &how, &mut connection);
        state.store(MOVED, Ordering::Release);
    }
}

fn move_once(path: &Path, how: &How, connection: &mut Option<Connection>) -> Result<()> {
    let open = match connection.take() {
        Some(open) => open,
        None => connect(Some(path))?,
    };
    let how = match how {
        How::Passing => "PRAGMA wal_checkpoint(PASSIVE)",
        How::Insisting => "PRAGMA wal_checkpoint(RESTART)",
    };
    let moved = open.query_row(how, [], |_| Ok(()));
    *connection = Some(open);
    Ok(moved?)
}
