//! API keys. They are created at the machine only: elsewhere somebody could give a program
//! more rights than they have themselves. People revoke them as they remove members.

use ostler_domain::id::KeyId;
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::org::role::Role;
use ostler_domain::secret::ApiKeySecret;
use ostler_domain::time::Timestamp;
use ostler_store::{ApiKey, NewApiKey, OrgStore};
use serde_json::{Value, json};

use super::{Actor, OperationError, OrgOperations, Result};
use crate::ids::fresh;

impl OrgOperations<'_> {
    /// Returns a page of the org's keys, oldest first, including revoked ones. `after` is the
    /// last one of the page before.
    pub async fn keys(&self, after: Option<KeyId>, limit: u32) -> Result<Vec<ApiKey>> {
        Ok(self.authorize(OrgPermission::ManagePeople).await?.keys(after, limit).await?)
    }

    /// Creates a key with a role. Only the hash of its secret is stored.
    pub async fn create_key(
        &self,
        name: &str,
        role: Role,
        scopes: KeyScopes,
        expires_at: Option<Timestamp>,
        secret: &ApiKeySecret,
    ) -> Result<KeyId> {
        let store = self.authorize_terminal().await?;
        let name = name.trim().to_owned();
        if name.is_empty() {
            return Err(OperationError::Empty("the name of a key"));
        }
        let id = fresh(KeyId::from_u128);
        let after = json!({"name": name, "role": role, "scopes": scopes, "expires_at": expires_at});
        let audit = self.audit_change("create_key", &id, &Value::Null, &after);
        let key = NewApiKey { id, name, role, scopes, expires_at };
        store.audited(audit).create_key(key, secret).await?;
        Ok(id)
    }

    /// Revokes a key, as a member with its role is removed. Repeating it changes nothing.
    pub async fn revoke_key(&self, id: KeyId) -> Result<()> {
        let store = self.authorize(OrgPermission::ManagePeople).await?;
        let key = store.key(id).await?;
        self.check_role(Some(key.role), None).await?;
        if key.revoked_at.is_some() {
            return Ok(());
        }
        let state = |state: &str| json!({"name": key.name, "role": key.role, "state": state});
        let (before, after) = (state("valid"), state("revoked"));
        let audit = self.audit_change("revoke_key", &id, &before, &after);
        Ok(store.audited(audit).revoke_key(id).await?)
    }

    async fn authorize_terminal(&self) -> Result<OrgStore<'_>> {
        if self.actor != Actor::Terminal {
            return Err(OperationError::Forbidden {
                who: "you".to_owned(),
                what: "create keys over the network",
                holders: "the operator at the machine",
            });
        }
        self.authorize(OrgPermission::Configure).await
    }
}
