//! Ctrl-C: once stops the turn cleanly, twice ends the program.

use std::sync::{Arc, Mutex, PoisonError};

use ostler_engine::driver::Handle;
use tokio::sync::Notify;

/// What a program that Ctrl-C ended answers.
const INTERRUPTED: i32 = 130;

/// Watches for Ctrl-C.
pub(super) struct Interrupt {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The turn that runs.
    turn: Mutex<Option<Handle>>,
    rings: Notify,
}

/// While it is there, Ctrl-C stops this turn.
pub(super) struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        *self.0.turn.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Interrupt {
    pub(super) fn watch() -> Self {
        let shared = Arc::<Shared>::default();
        let watched = shared.clone();
        tokio::spawn(async move {
            let mut stopping = false;
            while tokio::signal::ctrl_c().await.is_ok() {
                if std::mem::replace(&mut stopping, true) {
                    std::process::exit(INTERRUPTED);
                }
                let turn = watched.turn.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(turn) = turn {
                    turn.abort();
                }
                watched.rings.notify_one();
            }
        });
        Self { shared }
    }

    /// Has Ctrl-C stop this turn.
    pub(super) fn aborts(&self, turn: &Handle) -> Running {
        let mut running = self.shared.turn.lock().unwrap_or_else(PoisonError::into_inner);
        *running = Some(turn.clone());
        Running(self.shared.clone())
    }

    /// Waits for something unless Ctrl-C comes first.
    pub(super) async fn or<T>(&self, waiting: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = waiting => Some(done),
            () = self.shared.rings.notified() => None,
        }
    }
}
