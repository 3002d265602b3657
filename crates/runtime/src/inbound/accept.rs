//! Accepting: a message is the org's once its row is committed, and once only.

use ostler_domain::id::{ConversationId, InboxId, OrgId};
use ostler_domain::session::key::ConversationKey;
use ostler_store::{Accepted, Inbound, Store, StoreError};

pub use super::bell::Doorbell;
use crate::ids::fresh;
use crate::talk::entry::Entry;
use crate::talk::write;

/// Accepts messages.
#[derive(Debug, Clone)]
pub struct Intake {
    store: Store,
    bell: Doorbell,
    backlog: u32,
}

impl Intake {
    /// Accepts messages into a store, and rings a bell.
    pub const fn new(store: Store, bell: Doorbell, backlog: u32) -> Self {
        Self { store, bell, backlog }
    }

    /// Accepts something into a conversation. `provider_id` is what a repeat is
    /// known by.
    pub async fn accept(
        &self,
        key: ConversationKey,
        provider_id: &str,
        entry: &Entry,
    ) -> Result<Accepted, StoreError> {
        let org: OrgId = key.org;
        let inbound = inbound(key.clone(), provider_id, entry);
        let accepted = self.store.org(org).accept_inbound(inbound, self.backlog).await?;
        crate::faults::point("after_accept");
        self.bell.ring_for(&key);
        Ok(accepted)
    }
}

/// A row of the inbox.
pub(crate) fn inbound(key: ConversationKey, provider_id: &str, entry: &Entry) -> Inbound {
    Inbound {
        id: fresh(InboxId::from_u128),
        key,
        new_conversation: fresh(ConversationId::from_u128),
        provider_id: provider_id.to_owned(),
        payload: write(entry),
    }
}
