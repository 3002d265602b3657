//! User accounts of the whole installation, which the platform manages.

use ostler_domain::id::{OrgId, UserId};
use ostler_domain::org::role::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An account with its roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct User {
    pub id: UserId,
    pub email: String,
    pub name: String,
    /// Whether the account has a password.
    pub can_log_in: bool,
    pub memberships: Vec<UserMembership>,
}

/// A role of a user in an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserMembership {
    /// The slug of the organization.
    pub org: String,
    pub org_id: OrgId,
    pub role: Role,
}

/// A change of an account; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserPatch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}
