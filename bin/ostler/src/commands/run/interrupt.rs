//! Ctrl-C: the first stops the turn cleanly, the second ends the program.

use std::sync::{Arc, Mutex, PoisonError};

use ostler_engine::driver::TurnHandle;
use tokio::sync::Notify;

/// The exit code of a program that was ended by Ctrl-C.
const INTERRUPTED_EXIT_CODE: i32 = 130;

/// Watches for Ctrl-C.
pub(super) struct Interrupt {
    state: Arc<InterruptState>,
}

#[derive(Default)]
struct InterruptState {
    /// The running turn.
    turn: Mutex<Option<TurnHandle>>,
    pressed: Notify,
}

/// While this guard lives, Ctrl-C aborts its turn.
pub(super) struct AbortGuard(Arc<InterruptState>);

impl Drop for AbortGuard {
    fn drop(&mut self) {
        *self.0.turn.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Interrupt {
    pub(super) fn watch() -> Self {
        let state = Arc::<InterruptState>::default();
        let watched = state.clone();
        tokio::spawn(async move {
            let mut stopping = false;
            while tokio::signal::ctrl_c().await.is_ok() {
                if std::mem::replace(&mut stopping, true) {
                    std::process::exit(INTERRUPTED_EXIT_CODE);
                }
                let turn = watched.turn.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(turn) = turn {
                    turn.abort();
                }
                watched.pressed.notify_one();
            }
        });
        Self { state }
    }

    /// Makes Ctrl-C abort a turn until the guard is dropped.
    pub(super) fn abort_on_ctrl_c(&self, turn: &TurnHandle) -> AbortGuard {
        let mut running = self.state.turn.lock().unwrap_or_else(PoisonError::into_inner);
        *running = Some(turn.clone());
        AbortGuard(self.state.clone())
    }

    /// Awaits a future; returns `None` if Ctrl-C comes first.
    pub(super) async fn unless_pressed<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            output = future => Some(output),
            () = self.state.pressed.notified() => None,
        }
    }
}
