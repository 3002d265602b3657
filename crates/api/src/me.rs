//! `GET /v1/me`: the identity of the caller.

use ostler_domain::id::{KeyId, LoginId, OrgId, UserId};
use ostler_domain::org::Relation;
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::role::Role;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who makes the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Me {
    Key(KeyIdentity),
    User(UserIdentity),
}

/// The key that a request is made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyIdentity {
    pub key: KeyId,
    pub name: String,
    pub org: OrgId,
    pub slug: String,
    pub role: Role,
    /// None means everything that the role allows.
    pub scopes: KeyScopes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The user who is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserIdentity {
    pub user: UserId,
    pub email: String,
    pub name: String,
    /// The log-in that the request is made with.
    pub login: LoginId,
    /// The organizations that the user works in, by name.
    pub orgs: Vec<OrgAccess>,
}

/// An organization that a user works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrgAccess {
    pub org: OrgId,
    pub slug: String,
    pub name: String,
    /// The role in the organization, or in the one that gives access to it.
    pub role: Role,
    /// `own` for a membership, `child` for a client of an agency, `unrelated` for what a
    /// platform admin reaches besides.
    pub relation: Relation,
}
