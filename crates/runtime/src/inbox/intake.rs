//! Accepts entries into the inbox. An entry is accepted once its row is committed; a repeat
//! gets the id of the first.

use ostler_domain::id::{ConversationId, InboxId};
use ostler_domain::session::key::ConversationKey;
use ostler_store::{AcceptOutcome, NewBlob, NewInboxEntry, Store, StoreError};

use super::doorbell::Doorbell;
use crate::ids::fresh;
use crate::records::encode;
use crate::records::entry::InboxEntry;

/// Accepts inbox entries. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Intake {
    store: Store,
    bell: Doorbell,
    max_backlog: u32,
}

impl Intake {
    /// Creates an intake that rings `bell` for each entry. `max_backlog` is the maximum
    /// number of unanswered entries of an org.
    pub const fn new(store: Store, bell: Doorbell, max_backlog: u32) -> Self {
        Self { store, bell, max_backlog }
    }

    /// Returns the store of the inbox.
    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    /// Accepts an entry into a conversation. A repeat is recognized by `provider_id`.
    /// Fails if the org's backlog is full.
    pub async fn accept(
        &self,
        key: ConversationKey,
        provider_id: &str,
        entry: &InboxEntry,
    ) -> Result<AcceptOutcome, StoreError> {
        self.accept_with_files(key, provider_id, entry, Vec::new()).await
    }

    /// Accepts an entry together with its new files, which are stored only if it is new.
    /// Fails if the org's backlog or its storage is full.
    pub async fn accept_with_files(
        &self,
        key: ConversationKey,
        provider_id: &str,
        entry: &InboxEntry,
        files: Vec<NewBlob>,
    ) -> Result<AcceptOutcome, StoreError> {
        let new = new_inbox_entry(key.clone(), provider_id, entry);
        let store = self.store.org(key.org);
        let accepted = store.accept_with_files(new, files, self.max_backlog).await?;
        crate::faults::point("after_accept");
        self.bell.ring_for(&key);
        Ok(accepted)
    }
}

/// Returns a new row of the inbox.
pub(crate) fn new_inbox_entry(
    key: ConversationKey,
    provider_id: &str,
    entry: &InboxEntry,
) -> NewInboxEntry {
    NewInboxEntry {
        id: fresh(InboxId::from_u128),
        key,
        new_conversation: fresh(ConversationId::from_u128),
        provider_id: provider_id.to_owned(),
        payload: encode(entry),
    }
}
