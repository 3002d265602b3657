//! Wakes workers for conversations that go on without a message: after a decision, a report,
//! or a change of what orgs share.

use ostler_domain::id::{ConversationId, OrgId};
use ostler_store::{SharedRecordChange, Store};

use super::doorbell::Doorbell;

/// Wakes a worker for a conversation, in this process and on the bus. If the conversation's
/// key cannot be read, only this process is woken.
pub(crate) async fn wake_conversation(
    bell: &Doorbell,
    store: &Store,
    org: OrgId,
    conversation: ConversationId,
) {
    bell.ring();
    if bell.is_on_bus()
        && let Ok(key) = store.org(org).conversation_key(conversation).await
    {
        bell.ring_for(&key);
    }
}

/// Wakes a worker for each conversation that goes on with a change of what orgs share.
pub(crate) async fn wake_informed(bell: &Doorbell, store: &Store, changes: &[SharedRecordChange]) {
    for informed in changes.iter().filter_map(|change| change.follow_up.as_ref()) {
        bell.ring();
        if bell.is_on_bus()
            && let Ok(session) = store.org(informed.org).session(informed.session).await
        {
            wake_conversation(bell, store, informed.org, session.conversation).await;
        }
    }
}
