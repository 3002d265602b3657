//! Calls that want something stored with the turn run one after the other, so that
//! each sees what those before it want. Side by side, two could each take the last
//! place, and only the commit would notice.

use std::collections::VecDeque;

use crate::gate::Authorized;
use crate::history::CallId;
use crate::turn::Path;

/// The call that runs, and those that wait for it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    running: Option<(Path, CallId)>,
    waiting: VecDeque<(Path, Authorized)>,
}

impl Queue {
    /// The call if it may run at once; otherwise it is kept.
    pub(super) fn enter(&mut self, path: &Path, call: Authorized) -> Option<Authorized> {
        if self.running.is_some() {
            self.waiting.push_back((path.clone(), call));
            return None;
        }
        self.running = Some((path.clone(), call.call().id.clone()));
        Some(call)
    }

    /// A call has ended. If it was the one that ran, this is the next.
    pub(super) fn leave(&mut self, path: &Path, call: &CallId) -> Option<(Path, Authorized)> {
        let ran = self.running.as_ref().is_some_and(|(at, id)| at == path && id == call);
        if !ran {
            return None;
        }
        let next = self.waiting.pop_front();
        self.running = next.as_ref().map(|(at, call)| (at.clone(), call.call().id.clone()));
        next
    }
}
