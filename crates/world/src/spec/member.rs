//! People of an org.

use ostler_domain::org::role::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A person of an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberDefinition {
    /// The organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    /// The e-mail address.
    pub email: String,
    /// The person's name. An account that exists keeps its own.
    #[serde(default)]
    pub name: String,
    /// What the person may do.
    pub role: Role,
}
