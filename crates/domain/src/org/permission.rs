//! What a person or an API key may do in an org, by their role there or in its parent.
//!
//! The guardrail matrix is about agents; this is about people and their programs.
//! Where both cover the configuration of another org they agree: an agency's people
//! work in the inboxes of its clients but configure nothing there.

use serde::{Deserialize, Serialize};

use super::Relation;
use super::guardrail::{GuardedAction, check};
use super::layer::{BusinessLayer, BusinessPosition};
use super::role::Role;
use crate::agent::subtype::Subtype;

/// A permission in an org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrgPermission {
    /// View conversations, queues and credit accounts.
    View,
    /// Work in the inbox: answer, approve, take over, retry.
    Operate,
    /// Change agents, knowledge and settings.
    Configure,
    GrantCredits,
    /// Invite, add and remove members and change their roles.
    ManagePeople,
}

impl OrgPermission {
    /// Returns the words that follow "may not" in a refusal.
    pub const fn description(self) -> &'static str {
        match self {
            Self::View => "view this organization",
            Self::Operate => "work in the inbox of this organization",
            Self::Configure => "configure this organization",
            Self::GrantCredits => "grant credits",
            Self::ManagePeople => "manage the people of this organization",
        }
    }

    /// Returns the roles that include the permission, for a refusal.
    pub const fn holders(self) -> &'static str {
        match self {
            Self::View => "any member",
            Self::Operate => "an operator, an admin or an owner",
            Self::Configure | Self::ManagePeople => "an admin or an owner",
            Self::GrantCredits => "a platform admin",
        }
    }
}

/// Returns whether a role in one org includes a permission in an org with this relation.
pub fn role_permits(role: Role, org: Relation, permission: OrgPermission) -> bool {
    if role == Role::PlatformAdmin {
        return true;
    }
    let by_role = match permission {
        OrgPermission::View => true,
        OrgPermission::Operate => role != Role::Viewer,
        OrgPermission::Configure | OrgPermission::ManagePeople => {
            matches!(role, Role::Owner | Role::Admin)
        }
        OrgPermission::GrantCredits => false,
    };
    by_role
        && match org {
            Relation::Own => true,
            Relation::Child => match permission {
                OrgPermission::View | OrgPermission::Operate => true,
                OrgPermission::Configure | OrgPermission::ManagePeople => configures_children(),
                OrgPermission::GrantCredits => false,
            },
            Relation::Parent | Relation::Unrelated => false,
        }
}

/// Returns whether the guardrail matrix lets an agency configure its clients.
fn configures_children() -> bool {
    let layer = BusinessLayer::Agency;
    let agency =
        BusinessPosition { business_layer: layer, guardrail_layer: layer, subtype: Subtype::Pm };
    check(&agency, GuardedAction::ManageSettings(Relation::Child)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::Relation::{Child, Own, Parent, Unrelated};
    use super::super::role::Role::{Admin, Operator, Owner, PlatformAdmin, Viewer};
    use super::OrgPermission::{Configure, GrantCredits, ManagePeople, Operate, View};
    use super::{OrgPermission, role_permits};

    #[test]
    fn each_role_has_exactly_the_listed_permissions() {
        let all = [View, Operate, Configure, GrantCredits, ManagePeople];
        let table: [(_, _, &[OrgPermission]); 13] = [
            (Owner, Own, &[View, Operate, Configure, ManagePeople]),
            (Admin, Own, &[View, Operate, Configure, ManagePeople]),
            (Operator, Own, &[View, Operate]),
            (Viewer, Own, &[View]),
            (Owner, Child, &[View, Operate]),
            (Admin, Child, &[View, Operate]),
            (Operator, Child, &[View, Operate]),
            (Viewer, Child, &[View]),
            (Owner, Parent, &[]),
            (Owner, Unrelated, &[]),
            (PlatformAdmin, Own, &all),
            (PlatformAdmin, Child, &all),
            (PlatformAdmin, Unrelated, &all),
        ];
        for (role, org, expected) in table {
            let found: Vec<OrgPermission> =
                all.into_iter().filter(|&permission| role_permits(role, org, permission)).collect();
            assert_eq!(found, expected, "{role} {org:?}");
        }
    }
}
