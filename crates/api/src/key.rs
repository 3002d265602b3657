//! API keys of an organization.

use ostler_domain::id::KeyId;
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::role::Role;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A key to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKeyRequest {
    /// What it is for, such as the program that uses it.
    pub name: String,
    pub role: Role,
    /// What it may use; everything that its role allows if it is empty.
    #[serde(default)]
    pub scopes: KeyScopes,
    /// How many days it is valid, up to 3650. Without it 90, or as long as the key that makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// Whether it is valid until it is revoked.
    #[serde(default)]
    pub never_expires: bool,
}

/// A new key with its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedKey {
    #[serde(flatten)]
    pub key: ListedKey,
    /// `osk_…`. It is not shown again.
    pub secret: String,
}

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
