//! API keys of an organization.

use ostler_domain::id::KeyId;
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::role::Role;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An API key. Its secret is shown once, when it is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedKey {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    pub scopes: KeyScopes,
    /// The beginning of the secret, by which its owner recognizes it.
    pub prefix: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// Accurate to a minute.
    pub last_used_at: Option<Timestamp>,
}
