//! The turns that run in this process, by session. The runtime's tools find their
//! conversation here, and a person who takes over aborts the turn.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use ostler_domain::id::{RunId, SessionId};
use ostler_engine::driver::TurnHandle;
use ostler_engine::tool::ToolSet;

use crate::org_view::{OrgView, OrgViews};
use crate::records::session::Session;

/// A turn that is running.
#[derive(Clone)]
pub(crate) struct RunningTurn {
    pub(crate) run: RunId,
    /// The session, as it was when the turn began.
    pub(crate) session: Arc<Session>,
    pub(crate) view: Arc<OrgView>,
    /// Finds the orgs above and below.
    pub(crate) org_views: OrgViews,
    pub(crate) tools: Arc<ToolSet>,
    /// What the turn can still spend.
    pub(crate) available: ostler_domain::money::Credits,
    pub(crate) handle: TurnHandle,
}

/// How many abandoned runs are remembered.
const MAX_ABANDONED: usize = 10_000;

/// The turns that run in this process. Cheap to clone.
#[derive(Clone, Default)]
pub struct RunningTurns(Arc<Mutex<Turns>>);

#[derive(Default)]
struct Turns {
    running: HashMap<SessionId, RunningTurn>,
    /// Runs whose callers have gone, the newest last.
    abandoned: VecDeque<RunId>,
}

impl RunningTurns {
    fn lock(&self) -> std::sync::MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a turn until the returned guard is dropped. The turn of an abandoned run is
    /// aborted.
    pub(crate) fn register(&self, session: SessionId, turn: RunningTurn) -> RunningTurnGuard {
        let mut turns = self.lock();
        if turns.abandoned.contains(&turn.run) {
            turn.handle.abort();
        }
        turns.running.insert(session, turn);
        RunningTurnGuard(self.clone(), session)
    }

    pub(crate) fn get(&self, session: SessionId) -> Option<RunningTurn> {
        self.lock().running.get(&session).cloned()
    }

    pub(crate) fn list(&self) -> Vec<RunningTurn> {
        self.lock().running.values().cloned().collect()
    }

    /// Aborts the turn of a run whose caller has gone: at once if it runs here, and when it
    /// begins here otherwise.
    pub(crate) fn abandon(&self, run: RunId) {
        let mut turns = self.lock();
        turns.abandoned.push_back(run);
        if turns.abandoned.len() > MAX_ABANDONED {
            turns.abandoned.pop_front();
        }
        if let Some(turn) = turns.running.values().find(|turn| turn.run == run) {
            turn.handle.abort();
        }
    }

    /// Returns whether the caller of a run has gone.
    pub(crate) fn is_abandoned(&self, run: RunId) -> bool {
        self.lock().abandoned.contains(&run)
    }

    /// Aborts the turn of a session, if it runs here.
    pub fn abort(&self, session: SessionId) {
        if let Some(turn) = self.get(session) {
            turn.handle.abort();
        }
    }
}

impl std::fmt::Debug for RunningTurns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.lock().running.keys()).finish()
    }
}

/// Removes its turn when it is dropped.
pub(crate) struct RunningTurnGuard(RunningTurns, SessionId);

impl Drop for RunningTurnGuard {
    fn drop(&mut self) {
        self.0.lock().running.remove(&self.1);
    }
}
