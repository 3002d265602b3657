//! What all turns of a process share.

use crate::assembly::documents::DocumentCache;
use crate::assembly::thread_cache::ThreadCache;
use crate::deps::Deps;
use crate::inbox::Doorbell;
use crate::org_view::OrgViews;
use crate::running_turns::RunningTurns;

/// The dependencies, caches and bells that all turns of a process share.
pub struct Services {
    pub(crate) deps: Deps,
    pub(crate) org_views: OrgViews,
    pub(crate) documents: DocumentCache,
    pub(crate) thread_cache: ThreadCache,
    pub(crate) running_turns: RunningTurns,
    /// Wakes the workers that answer conversations.
    pub(crate) bell: Doorbell,
    /// Wakes the delivery workers.
    pub(crate) outbox_bell: Doorbell,
}

impl Services {
    pub(crate) fn new(deps: Deps, running_turns: RunningTurns) -> Self {
        Self {
            org_views: OrgViews::new(deps.store.clone(), deps.tools.clone()),
            deps,
            documents: DocumentCache::default(),
            thread_cache: ThreadCache::default(),
            running_turns,
            bell: Doorbell::default(),
            outbox_bell: Doorbell::default(),
        }
    }
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}
