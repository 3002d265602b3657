//! What one run of a conversation works with.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ostler_domain::id::{InboxId, OrgId, RunId};
use ostler_domain::session::key::ConversationKey;
use ostler_domain::time::Timestamp;
use ostler_store::{Lease, OrgStore, TurnStart};

use crate::assembly::Services;
use crate::org_view::OrgView;
use crate::records::entry::IncomingMessage;

/// A conversation that a worker holds, and the org it belongs to.
pub(crate) struct RunContext<'d> {
    pub(crate) services: &'d Services,
    pub(crate) lease: Lease,
    pub(crate) key: &'d ConversationKey,
    /// What the store had when the run began.
    pub(crate) start: TurnStart,
    pub(crate) view: Arc<OrgView>,
    /// The same for every attempt.
    pub(crate) run_id: RunId,
    /// The number of the attempt, from 1.
    pub(crate) attempt: u32,
    /// When the run began.
    pub(crate) now: Timestamp,
    /// Whether a checkpoint of the run may have been stored.
    pub(crate) has_checkpoint: AtomicBool,
}

impl<'d> RunContext<'d> {
    pub(crate) const fn org(&self) -> OrgId {
        self.lease.org()
    }

    /// Returns the current time, for what is written at the end of a turn.
    pub(crate) fn current_time(&self) -> Timestamp {
        self.services.deps.clock.now()
    }

    /// Returns the org's part of the store.
    pub(crate) fn store(&self) -> OrgStore<'d> {
        self.services.deps.store.org(self.org())
    }
}

/// A message from the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReceivedMessage {
    pub(crate) inbox_id: InboxId,
    pub(crate) received_at: Timestamp,
    pub(crate) message: IncomingMessage,
}
