//! Roles of people and API keys in an org.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OrgPlace;

/// A role. A person may have one in each of several orgs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May do everything, including changes to users and plan.
    Owner,
    Admin,
    /// Works in the inbox: answers, approves, takes over.
    Operator,
    Viewer,
    /// Runs the installation; exists only in the platform org.
    PlatformAdmin,
}

/// The text is not the name of a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role; use owner, admin, operator, viewer or platform_admin")]
pub struct UnknownRole(pub String);

impl Role {
    /// All roles.
    pub const ALL: [Self; 5] =
        [Self::Owner, Self::Admin, Self::Operator, Self::Viewer, Self::PlatformAdmin];

    /// Returns the name as stored and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Viewer => "viewer",
            Self::PlatformAdmin => "platform_admin",
        }
    }

    /// Returns whether the role exists in an org at this place.
    pub const fn exists_in(self, place: OrgPlace) -> bool {
        !matches!(self, Self::PlatformAdmin) || matches!(place, OrgPlace::Platform)
    }

    /// Returns whether the last person with this role cannot be removed, because then
    /// nobody could add a user again.
    pub const fn must_be_held(self) -> bool {
        matches!(self, Self::Owner | Self::PlatformAdmin)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let known = Self::ALL.into_iter().find(|role| role.name() == text);
        known.ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Role, UnknownRole};
    use crate::id::OrgId;
    use crate::org::OrgPlace;

    #[test]
    fn a_role_is_read_back_by_its_name() {
        for role in Role::ALL {
            assert_eq!(role.name().parse(), Ok(role));
            assert_eq!(serde_json::to_string(&role).unwrap(), format!("\"{role}\""));
        }
        let unknown = "root".parse::<Role>();
        assert_eq!(unknown, Err(UnknownRole("root".into())));
    }

    #[test]
    fn only_the_platform_has_platform_admins() {
        let sub_org = OrgPlace::SubOrg { parent: OrgId::from_u128(1) };
        for role in Role::ALL {
            let ordinary = role != Role::PlatformAdmin;
            assert!(role.exists_in(OrgPlace::Platform), "{role}");
            assert_eq!(role.exists_in(OrgPlace::TopLevel), ordinary, "{role}");
            assert_eq!(role.exists_in(sub_org), ordinary, "{role}");
        }
    }

    #[test]
    fn owner_and_platform_admin_must_always_be_held() {
        let held: Vec<Role> = Role::ALL.into_iter().filter(|role| role.must_be_held()).collect();
        assert_eq!(held, [Role::Owner, Role::PlatformAdmin]);
    }
}
