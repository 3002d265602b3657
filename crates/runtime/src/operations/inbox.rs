//! The inbox of the people of an agency: what waits for a person in the org and its clients.

use ostler_domain::org::Org;
use ostler_domain::org::permission::OrgPermission;

use super::escalations::WaitingSession;
use super::sessions::decode_each;
use super::{OrgOperations, Result};
use crate::records::message::ThreadMessage;

/// A conversation that waits for a person or is held by one, in the org or a client of it.
#[derive(Debug, Clone)]
pub struct InboxItem {
    pub org: Org,
    pub waiting: WaitingSession,
    pub last_message: Option<ThreadMessage>,
}

impl OrgOperations<'_> {
    /// Returns what waits in the org and in its clients: for each of them, the queue of its
    /// escalations. Clients that the actor may not view are left out.
    pub async fn inbox(&self) -> Result<Vec<InboxItem>> {
        let store = self.authorize(OrgPermission::View).await?;
        let mut orgs = vec![store.org().await?];
        orgs.extend(self.clients().await?);
        let visible = self.actor.visible(&self.inner().store, orgs).await?;
        let mut items = Vec::new();
        for org in visible {
            let there = self.operations.as_actor(self.actor, org.id);
            for waiting in there.escalations().await? {
                let store = self.inner().store.org(org.id);
                let last = store.last_messages(waiting.session.thread, 1).await?;
                let last = decode_each("message", last.iter().map(|one| one.data.as_str()))?;
                let last_message: Option<ThreadMessage> = last.into_iter().next();
                items.push(InboxItem { org: org.clone(), waiting, last_message });
            }
        }
        Ok(items)
    }
}
