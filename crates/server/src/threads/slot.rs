//! The place of one open thread.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ostler_domain::id::ThreadId;
use ostler_harness::{Harness, HarnessError};

use super::ThreadOwner;

/// A thread that is open in this process.
#[derive(Debug, Clone)]
pub(crate) struct LiveThread {
    pub(crate) harness: Harness,
    /// Differs after every opening of the thread.
    pub(crate) generation: u64,
}

/// The place of a thread, which is filled when the thread is open.
pub(super) struct Slot {
    pub(super) owner: ThreadOwner,
    pub(super) live: tokio::sync::Mutex<Option<LiveThread>>,
    used_at: Mutex<Instant>,
}

impl Slot {
    pub(super) fn new(owner: ThreadOwner) -> Self {
        Self { owner, live: tokio::sync::Mutex::default(), used_at: Mutex::new(Instant::now()) }
    }

    /// Notes that the thread is in use.
    pub(super) fn touch(&self) {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns how long the thread has not been used.
    pub(super) fn idle_time(&self) -> Duration {
        self.used_at.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Returns the thread if it is open.
    pub(super) async fn current(&self, id: ThreadId) -> Option<LiveThread> {
        let mut place = self.live.lock().await;
        let live = place.clone()?;
        let thread = live.harness.current_thread().await;
        if thread.is_some_and(|thread| thread.id == id) {
            return Some(live);
        }
        // Another process has taken the thread over, or it could not be stored.
        *place = None;
        None
    }

    /// Lets go of the thread unless a turn is at work. Returns whether it is closed now.
    pub(super) async fn close_if_idle(&self) -> bool {
        let Ok(mut place) = self.live.try_lock() else { return false };
        match &*place {
            Some(live) if live.harness.is_working().await => return false,
            Some(live) => let_go(&live.harness).await,
            None => {}
        }
        *place = None;
        true
    }

    /// Lets go of the thread; a turn that is at work may finish until a deadline.
    pub(super) async fn drain(&self, deadline: Instant) {
        let mut place = self.live.lock().await;
        let Some(live) = place.take() else { return };
        while live.harness.is_working().await && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let_go(&live.harness).await;
    }
}

async fn let_go(harness: &Harness) {
    match harness.suspend().await {
        // It belongs to another process already.
        Ok(()) | Err(HarnessError::ThreadLost) => {}
        Err(error) => tracing::warn!(%error, "thread not released"),
    }
}
