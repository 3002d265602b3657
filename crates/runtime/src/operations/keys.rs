//! API keys. A key is made by people who may manage the people of the org, or by a key of
//! theirs, and never has more rights than its maker. Its secret is returned once.

use ostler_domain::id::KeyId;
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::new_key::{KeyLifetime, MakerKey, check_new_key};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::org::role::Role;
use ostler_domain::secret::ApiKeySecret;
use ostler_store::{ApiKey, NewApiKey};
use serde_json::{Value, json};

use super::logins::random_secret;
use super::{Actor, OperationError, OrgOperations, Result};
use crate::ids::fresh;

/// The longest name of a key, in bytes.
const MAX_NAME: usize = 200;

/// A key to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    pub name: String,
    pub role: Role,
    pub scopes: KeyScopes,
    pub lifetime: KeyLifetime,
}

/// A new key with its secret, of which only the hash is stored.
#[derive(Debug)]
pub struct CreatedKey {
    pub key: ApiKey,
    pub secret: ApiKeySecret,
}

impl OrgOperations<'_> {
    /// Returns a page of the org's keys, oldest first, including revoked ones. `after` is the
    /// last one of the page before.
    pub async fn keys(&self, after: Option<KeyId>, limit: u32) -> Result<Vec<ApiKey>> {
        Ok(self.authorize(OrgPermission::ManagePeople).await?.keys(after, limit).await?)
    }

    /// Creates a key with a role, as a member with that role is added. A key that makes another
    /// one gives it its own scopes or fewer, and no longer time.
    pub async fn create_key(&self, new: NewKey) -> Result<CreatedKey> {
        let store = self.authorize(OrgPermission::ManagePeople).await?;
        let NewKey { name, role, scopes, lifetime } = new;
        let name = name.trim().to_owned();
        if name.is_empty() {
            return Err(OperationError::Empty("the name of a key"));
        }
        if name.len() > MAX_NAME {
            return Err(OperationError::TooLong { what: "the name of a key", max_bytes: MAX_NAME });
        }
        self.check_role(None, Some(role)).await?;
        let maker = match self.actor {
            Actor::Key { id, org, .. } => Some(self.inner().store.org(org).key(id).await?),
            Actor::User(_) | Actor::Chat(_) | Actor::Terminal | Actor::Agent { .. } => None,
        };
        let maker =
            maker.as_ref().map(|key| MakerKey { scopes: &key.scopes, expires_at: key.expires_at });
        let expires_at = check_new_key(&scopes, lifetime, maker, self.inner().clock.now())?;
        let secret: ApiKeySecret = random_secret::<_, 32>(ApiKeySecret::PREFIX)?;
        let id = fresh(KeyId::from_u128);
        let after = json!({"name": name, "role": role, "scopes": scopes, "expires_at": expires_at});
        let audit = self.audit_change("create_key", &id, &Value::Null, &after);
        let key = NewApiKey { id, name, role, scopes, expires_at };
        store.audited(audit).create_key(key, &secret).await?;
        Ok(CreatedKey { key: store.key(id).await?, secret })
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
}
