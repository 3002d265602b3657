//! A queue that runs calls with effects on the org's records one after the other, so that
//! each sees the effects of those before it. In parallel, two calls could each take the
//! last free slot, and only the commit would notice.

use std::collections::VecDeque;

use crate::gate::Authorized;
use crate::history::CallId;
use crate::turn::AgentPath;

/// The running call and those waiting for it.
#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    running: Option<(AgentPath, CallId)>,
    waiting: VecDeque<(AgentPath, Authorized)>,
}

impl WriteQueue {
    /// Returns the call if it may run now; queues it otherwise.
    pub(super) fn start_or_queue(
        &mut self,
        path: &AgentPath,
        call: Authorized,
    ) -> Option<Authorized> {
        if self.running.is_some() {
            self.waiting.push_back((path.clone(), call));
            return None;
        }
        self.running = Some((path.clone(), call.call().id.clone()));
        Some(call)
    }

    /// Removes a finished call and returns the next one to run, if any.
    pub(super) fn finish(
        &mut self,
        path: &AgentPath,
        call: &CallId,
    ) -> Option<(AgentPath, Authorized)> {
        let ran = self.running.as_ref().is_some_and(|(at, id)| at == path && id == call);
        if !ran {
            return None;
        }
        let next = self.waiting.pop_front();
        self.running = next.as_ref().map(|(at, call)| (at.clone(), call.call().id.clone()));
        next
    }
}
