//! Keys of programs. They are made at the machine itself: whoever could make them
//! from elsewhere could give a program more than they may do themselves.

use ostler_domain::id::KeyId;
use ostler_domain::org::duty::Duty;
use ostler_domain::org::role::Role;
use ostler_domain::secret::KeySecret;
use ostler_domain::time::Timestamp;
use ostler_store::{Key, NewKey, OrgStore};
use serde_json::json;

use super::{Actor, Office, OperationError, Result};
use crate::ids::fresh;

impl Office<'_> {
    /// The org's keys, oldest first, the revoked ones too; those after the last
    /// one of the page before.
    pub async fn keys(&self, after: Option<KeyId>, most: u32) -> Result<Vec<Key>> {
        Ok(self.at_the_machine().await?.keys(after, most).await?)
    }

    /// Makes a key that acts in a role. Its secret is handed in, and kept nowhere.
    pub async fn create_key(
        &self,
        name: &str,
        role: Role,
        expires_at: Option<Timestamp>,
        secret: &KeySecret,
    ) -> Result<KeyId> {
        let store = self.at_the_machine().await?;
        let name = name.trim().to_owned();
        if name.is_empty() {
            return Err(OperationError::Empty("the name of a key"));
        }
        let id = fresh(KeyId::from_u128);
        let line = self.line("create_key", &id, &json!({"name": name, "role": role}));
        store.audited(line).create_key(NewKey { id, name, role, expires_at }, secret).await?;
        Ok(id)
    }

    /// Makes a key useless from now on.
    pub async fn revoke_key(&self, id: KeyId) -> Result<()> {
        let store = self.at_the_machine().await?;
        let line = self.line("revoke_key", &id, &json!({}));
        Ok(store.audited(line).revoke_key(id).await?)
    }

    async fn at_the_machine(&self) -> Result<OrgStore<'_>> {
        if self.actor != Actor::Terminal {
            return Err(OperationError::Forbidden { who: "you", what: "look after keys" });
        }
        self.allowed(Duty::SetUp).await
    }
}
