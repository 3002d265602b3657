//! What a run works with: a conversation that a worker holds, and the org that
//! it belongs to.

use std::sync::Arc;

use ostler_domain::id::{InboxId, OrgId, RunId};
use ostler_domain::session::key::ConversationKey;
use ostler_domain::time::Timestamp;
use ostler_store::{Beginning, Lease, OrgStore};

use crate::inbound::accept::Doorbell;
use crate::inbound::live::Live;
use crate::library::Library;
use crate::org_view::{OrgView, Views};
use crate::parts::Parts;
use crate::talk::entry::Wrote;
use crate::threads::Threads;

/// What every run of a process shares.
pub(crate) struct Desk {
    pub(crate) parts: Parts,
    pub(crate) views: Views,
    pub(crate) library: Library,
    pub(crate) threads: Threads,
    pub(crate) live: Live,
    /// Wakes whoever sends what was committed.
    pub(crate) outbox: Doorbell,
}

/// One run.
pub(crate) struct Case<'d> {
    pub(crate) desk: &'d Desk,
    /// The right to the conversation.
    pub(crate) lease: Lease,
    /// Its key.
    pub(crate) key: &'d ConversationKey,
    /// What was there when the run began.
    pub(crate) beginning: Beginning,
    /// The org.
    pub(crate) view: Arc<OrgView>,
    /// The id of the run, which is the same however often it is tried.
    pub(crate) run: RunId,
    /// Which try it is, from 1.
    pub(crate) attempt: u32,
    /// When it began.
    pub(crate) now: Timestamp,
}

impl<'d> Case<'d> {
    /// The tenant.
    pub(crate) const fn org(&self) -> OrgId {
        self.lease.org()
    }

    /// What belongs to it.
    pub(crate) fn store(&self) -> OrgStore<'d> {
        self.desk.parts.store.org(self.org())
    }
}

/// What somebody wrote, and under which id it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) id: InboxId,
    pub(crate) at: Timestamp,
    pub(crate) wrote: Wrote,
}
