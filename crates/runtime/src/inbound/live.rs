//! Turns that are running in this process, by their session: so that tools of
//! the runtime find what they work on, and a person who takes over stops what
//! is being written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ostler_domain::id::SessionId;
use ostler_engine::driver::Handle;
use ostler_engine::tool::ToolSet;

use crate::org_view::OrgView;
use crate::talk::session::Session;

/// A turn that is running.
#[derive(Clone)]
pub(crate) struct LiveTurn {
    /// The session, as it was when the turn began.
    pub(crate) session: Arc<Session>,
    /// The org.
    pub(crate) view: Arc<OrgView>,
    /// The tools that there are.
    pub(crate) tools: Arc<ToolSet>,
    /// What the org can still spend.
    pub(crate) available: ostler_domain::money::Credits,
    /// A way to stop it.
    pub(crate) handle: Handle,
}

/// The turns that are running. Cheap to clone.
#[derive(Clone, Default)]
pub struct Live(Arc<Mutex<HashMap<SessionId, LiveTurn>>>);

impl Live {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, LiveTurn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that a turn runs, until what is returned is dropped.
    pub(crate) fn enter(&self, session: SessionId, turn: LiveTurn) -> Running {
        self.lock().insert(session, turn);
        Running(self.clone(), session)
    }

    /// The turn of a session.
    pub(crate) fn get(&self, session: SessionId) -> Option<LiveTurn> {
        self.lock().get(&session).cloned()
    }

    /// The turns that are running now.
    pub(crate) fn all(&self) -> Vec<LiveTurn> {
        self.lock().values().cloned().collect()
    }

    /// Stops the turn of a session, if it runs here.
    pub fn stop(&self, session: SessionId) {
        if let Some(turn) = self.get(session) {
            turn.handle.abort();
        }
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.lock().keys()).finish()
    }
}

/// A turn that runs.
pub(crate) struct Running(Live, SessionId);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}
