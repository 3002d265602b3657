//! What a person may do in an org, by their role there or in the org above.
//!
//! The guardrail matrix is about agents; this is about people and their
//! programs. Where both speak of another org's set-up they agree: an agency's
//! people work in the inboxes of its clients, but set nothing up there.

use serde::{Deserialize, Serialize};

use super::Relation;
use super::guardrail::{Action, check};
use super::layer::{BusinessLayer, Standing};
use super::role::Role;
use crate::agent::subtype::Subtype;

/// A kind of thing that people do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duty {
    /// See conversations, queues and accounts.
    Look,
    /// Work in the inbox: answer, approve, take over, try again.
    Work,
    /// Change what agents know and are.
    SetUp,
    /// Give credits away.
    Grant,
}

impl Duty {
    /// What it is, after "may not".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Look => "look into this organization",
            Self::Work => "work in the inbox of this organization",
            Self::SetUp => "set this organization up",
            Self::Grant => "grant credits",
        }
    }
}

/// Whether somebody with a role in an org may do this in an org so related to it.
pub fn may(role: Role, org: Relation, duty: Duty) -> bool {
    if role == Role::PlatformAdmin {
        return true;
    }
    let by_role = match duty {
        Duty::Look => true,
        Duty::Work => role != Role::Viewer,
        Duty::SetUp => matches!(role, Role::Owner | Role::Admin),
        Duty::Grant => false,
    };
    by_role
        && match org {
            Relation::Own => true,
            Relation::Child => duty != Duty::SetUp || sets_up_children(),
            Relation::Parent | Relation::Unrelated => false,
        }
}

/// Whether the matrix lets an agency change how its clients are set up.
fn sets_up_children() -> bool {
    let layer = BusinessLayer::Agency;
    let agency = Standing { business_layer: layer, guarded_as: layer, subtype: Subtype::Pm };
    check(&agency, Action::ManageSettings(Relation::Child)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::Relation::{Child, Own, Parent, Unrelated};
    use super::super::role::Role::{Admin, Operator, Owner, PlatformAdmin, Viewer};
    use super::Duty::{Grant, Look, SetUp, Work};
    use super::{Duty, may};

    /// Everything that everybody may do, and nothing else.
    #[test]
    fn a_role_reaches_so_far() {
        let all = [Look, Work, SetUp, Grant];
        let table: [(_, _, &[Duty]); 13] = [
            (Owner, Own, &[Look, Work, SetUp]),
            (Admin, Own, &[Look, Work, SetUp]),
            (Operator, Own, &[Look, Work]),
            (Viewer, Own, &[Look]),
            (Owner, Child, &[Look, Work]),
            (Admin, Child, &[Look, Work]),
            (Operator, Child, &[Look, Work]),
            (Viewer, Child, &[Look]),
            (Owner, Parent, &[]),
            (Owner, Unrelated, &[]),
            (PlatformAdmin, Own, &all),
            (PlatformAdmin, Child, &all),
            (PlatformAdmin, Unrelated, &all),
        ];
        for (role, org, expected) in table {
            let found: Vec<Duty> = all.into_iter().filter(|&duty| may(role, org, duty)).collect();
            assert_eq!(found, expected, "{role} {org:?}");
        }
    }
}
