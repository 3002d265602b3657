//! Threads of the interactive harness: who may have them, and whose they are.

use ostler_domain::org::permission::OrgPermission;

use super::{Actor, OrgOperations, Result};

/// What an actor wants to do with its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadAccess {
    Read,
    /// Send messages, answer questions, change settings.
    Work,
}

impl OrgOperations<'_> {
    /// Returns the name under which the actor's threads are stored: its own id. Nobody else
    /// finds them. Fails if the actor may not do this.
    pub async fn thread_owner(&self, access: ThreadAccess) -> Result<String> {
        let permission = match access {
            ThreadAccess::Read => OrgPermission::View,
            ThreadAccess::Work => OrgPermission::Operate,
        };
        self.authorize(permission).await?;
        Ok(match self.actor {
            Actor::User(id) | Actor::Chat(id) => id.to_string(),
            Actor::Key { id, .. } => id.to_string(),
            Actor::Agent { id, .. } => id.to_string(),
            Actor::Terminal => "terminal".to_owned(),
        })
    }
}
