//! Moving the log into the file, on a thread of its own.
//!
//! The log begins anew only when all of it has been moved, and while much is
//! written it never is: what comes while the thread moves is left over. So from
//! time to time, when the thread has just moved most, the writer moves the rest.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::connect;
use crate::error::{Result, StoreError};

/// After so many more pages in the log they are moved into the file: rarely, so
/// that a page which is written often is moved once.
const PAGES: i32 = 8192;
/// Pages at which the log is to begin anew.
const MANY: i32 = 3 * PAGES;
/// Pages at which the writer moves them all, since nobody else seems to.
const TOO_MANY: i32 = 3 * MANY;

/// Nobody moves anything.
const IDLE: u8 = 0;
/// The thread does.
const MOVING: u8 = 1;
/// It has moved what there was when it began.
const MOVED: u8 = 2;

/// Has the log of the writer's database moved from now on.
pub(super) fn start(writer: &mut Connection, path: PathBuf) -> Result<()> {
    let state = Arc::new(AtomicU8::new(IDLE));
    let (wake, woken) = sync_channel(1);
    let moving = state.clone();
    std::thread::Builder::new()
        .name("ostler-checkpoint".into())
        .spawn(move || move_all(&path, &woken, &moving))
        .map_err(|error| StoreError::Unavailable(error.to_string()))?;
    let mut next = PAGES;
    writer.wal_hook(Some(move |log: &mut Wal, pages| {
        next = committed(log, pages, next, &state, &wake);
        Ok(())
    }))?;
    Ok(())
}

/// After each commit: `pages` is how many there are in the log, and at `next` of
/// them something is to be done. Says at how many the next time.
fn committed(log: &mut Wal, pages: i32, next: i32, state: &AtomicU8, wake: &SyncSender<()>) -> i32 {
    if pages < PAGES {
        return PAGES;
    }
    let moved = state.load(Ordering::Acquire) == MOVED;
    if moved {
        state.store(IDLE, Ordering::Release);
    }
    if (moved && pages >= MANY) || pages >= TOO_MANY {
        // Somebody who reads may be in the way, or the disk be full: then the
        // log grows until the next time, and a write that finds no room fails.
        let _ = log.checkpoint();
    } else if pages >= next && state.load(Ordering::Acquire) == IDLE {
        state.store(MOVING, Ordering::Release);
        if wake.try_send(()).is_err() {
            state.store(IDLE, Ordering::Release);
        }
        return pages.saturating_add(PAGES);
    }
    next
}

/// The thread's life.
fn move_all(path: &std::path::Path, woken: &Receiver<()>, state: &AtomicU8) {
    let mut connection = None;
    while woken.recv().is_ok() {
        // Where it fails, the writer tries it.
        let _ = move_once(path, &mut connection);
        state.store(MOVED, Ordering::Release);
    }
}

fn move_once(path: &std::path::Path, connection: &mut Option<Connection>) -> Result<()> {
    let open = match connection.take() {
        Some(open) => open,
        None => connect(Some(path))?,
    };
    let moved = open.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    *connection = Some(open);
    Ok(moved?)
}
