//! Changes to the people of an org: who may give and take away which role, and how long
//! an invitation is valid.

use std::time::Duration;

use super::OrgPlace;
use super::role::Role;

/// How long an invitation is valid unless the inviting person says otherwise.
pub const DEFAULT_INVITATION_DAYS: u32 = 7;
/// The longest time that an invitation is valid.
pub const MAX_INVITATION_DAYS: u32 = 30;

const DAY: Duration = Duration::from_secs(86_400);

/// Why a change of a role is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RoleChangeRefused {
    #[error("the role {0} exists only in the platform's organization; choose another role")]
    NotHere(Role),
    #[error("only an owner may add, change or remove an owner; ask an owner to do it")]
    NeedsOwner,
    #[error("only a platform admin may add, change or remove a platform admin; ask one to do it")]
    NeedsPlatformAdmin,
    #[error("an invitation is valid for 1 to {MAX_INVITATION_DAYS} days")]
    Lifetime,
}

/// Checks a change of a person's role by somebody with the role `by`. `None` means that
/// the person is no member before or after the change.
///
/// Whether `by` may manage people at all is decided in [`super::permission`].
pub fn check_role_change(
    by: Role,
    place: OrgPlace,
    before: Option<Role>,
    after: Option<Role>,
) -> Result<(), RoleChangeRefused> {
    if let Some(role) = after
        && !role.exists_in(place)
    {
        return Err(RoleChangeRefused::NotHere(role));
    }
    if before == after {
        return Ok(());
    }
    let affects = |role: Role| before == Some(role) || after == Some(role);
    if affects(Role::PlatformAdmin) && by != Role::PlatformAdmin {
        return Err(RoleChangeRefused::NeedsPlatformAdmin);
    }
    if affects(Role::Owner) && !matches!(by, Role::Owner | Role::PlatformAdmin) {
        return Err(RoleChangeRefused::NeedsOwner);
    }
    Ok(())
}

/// Returns how long an invitation of this many days is valid.
pub fn invitation_lifetime(days: u32) -> Result<Duration, RoleChangeRefused> {
    if (1..=MAX_INVITATION_DAYS).contains(&days) {
        Ok(DAY * days)
    } else {
        Err(RoleChangeRefused::Lifetime)
    }
}

#[cfg(test)]
mod tests {
    use super::RoleChangeRefused::{NeedsOwner, NeedsPlatformAdmin, NotHere};
    use super::{RoleChangeRefused, check_role_change, invitation_lifetime};
    use crate::org::OrgPlace::{Platform, TopLevel};
    use crate::org::role::Role::{Admin, Operator, Owner, PlatformAdmin, Viewer};

    /// O13: only owners make or remove owners; platform admins exist only on the platform.
    #[test]
    fn o13_only_owners_change_owners() {
        let table = [
            (Admin, TopLevel, None, Some(Viewer), Ok(())),
            (Admin, TopLevel, Some(Operator), Some(Admin), Ok(())),
            (Admin, TopLevel, Some(Admin), None, Ok(())),
            (Admin, TopLevel, None, Some(Owner), Err(NeedsOwner)),
            (Admin, TopLevel, Some(Owner), Some(Viewer), Err(NeedsOwner)),
            (Admin, TopLevel, Some(Owner), None, Err(NeedsOwner)),
            (Admin, TopLevel, Some(Owner), Some(Owner), Ok(())),
            (Owner, TopLevel, Some(Owner), None, Ok(())),
            (Owner, TopLevel, Some(Viewer), Some(Owner), Ok(())),
            (Owner, TopLevel, None, Some(PlatformAdmin), Err(NotHere(PlatformAdmin))),
            (PlatformAdmin, TopLevel, None, Some(PlatformAdmin), Err(NotHere(PlatformAdmin))),
            (PlatformAdmin, TopLevel, None, Some(Owner), Ok(())),
            (Owner, Platform, None, Some(PlatformAdmin), Err(NeedsPlatformAdmin)),
            (Owner, Platform, Some(PlatformAdmin), None, Err(NeedsPlatformAdmin)),
            (PlatformAdmin, Platform, Some(PlatformAdmin), Some(Viewer), Ok(())),
        ];
        for (by, place, before, after, expected) in table {
            let checked = check_role_change(by, place, before, after);
            assert_eq!(checked, expected, "{by} {place:?} {before:?} {after:?}");
        }
    }

    #[test]
    fn o13_an_invitation_is_valid_for_one_to_thirty_days() {
        for (days, hours) in [(1, Some(24)), (30, Some(720)), (0, None), (31, None)] {
            let lifetime = invitation_lifetime(days);
            let expected = hours.map(|hours| std::time::Duration::from_secs(hours * 3600));
            assert_eq!(lifetime.ok(), expected, "{days}");
        }
        assert_eq!(invitation_lifetime(0), Err(RoleChangeRefused::Lifetime));
    }
}
