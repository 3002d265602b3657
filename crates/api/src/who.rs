//! Who asks.

use ostler_domain::id::{KeyId, OrgId};
use ostler_domain::org::role::Role;
use serde::{Deserialize, Serialize};

/// Whom a key stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// The key.
    pub key: KeyId,
    /// What its owner calls it.
    pub name: String,
    /// The org that it belongs to.
    pub org: OrgId,
    /// The org's short name.
    pub slug: String,
    /// The role that it acts in.
    pub role: Role,
}
