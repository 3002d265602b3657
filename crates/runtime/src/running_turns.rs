//! The turns that run in this process, by session. The runtime's tools find their
//! conversation here, and a person who takes over aborts the turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ostler_domain::id::SessionId;
use ostler_engine::driver::TurnHandle;
use ostler_engine::tool::ToolSet;

use crate::org_view::{OrgView, OrgViews};
use crate::records::session::Session;

/// A turn that is running.
#[derive(Clone)]
pub(crate) struct RunningTurn {
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

/// The turns that run in this process. Cheap to clone.
#[derive(Clone, Default)]
pub struct RunningTurns(Arc<Mutex<HashMap<SessionId, RunningTurn>>>);

impl RunningTurns {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, RunningTurn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a turn until the returned guard is dropped.
    pub(crate) fn register(&self, session: SessionId, turn: RunningTurn) -> RunningTurnGuard {
        self.lock().insert(session, turn);
        RunningTurnGuard(self.clone(), session)
    }

    pub(crate) fn get(&self, session: SessionId) -> Option<RunningTurn> {
        self.lock().get(&session).cloned()
    }

    pub(crate) fn list(&self) -> Vec<RunningTurn> {
        self.lock().values().cloned().collect()
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
        f.debug_list().entries(self.lock().keys()).finish()
    }
}

/// Removes its turn when it is dropped.
pub(crate) struct RunningTurnGuard(RunningTurns, SessionId);

impl Drop for RunningTurnGuard {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}
