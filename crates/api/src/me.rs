//! `GET /v1/me`: the identity of the caller.

use ostler_domain::id::{KeyId, OrgId};
use ostler_domain::org::role::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The key that the request was made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Me {
    pub key: KeyId,
    pub name: String,
    pub org: OrgId,
    pub slug: String,
    pub role: Role,
}
