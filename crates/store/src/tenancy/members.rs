//! Members of an org and their roles. The last holder of a role that an org
//! requires cannot leave it.

use ostler_domain::id::{OrgId, UserId};
use ostler_domain::org::role::Role;

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::error::{Result, StoreError};
use crate::tenancy::orgs::lock_org;
use crate::tenancy::users::{User, read_user};

/// A user and their role in an org.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub user: User,
    pub role: Role,
}

const SET: Sql = sql!(
    "INSERT INTO memberships (org, user_id, role) VALUES (?1, ?2, ?3)
     ON CONFLICT (org, user_id) DO UPDATE SET role = excluded.role"
);
const REMOVE: Sql = sql!("DELETE FROM memberships WHERE org = ?1 AND user_id = ?2");
const ROLE: Sql = sql!("SELECT role FROM memberships WHERE org = ?1 AND user_id = ?2");
/// Two holders are enough to know that one may leave.
const HOLDERS: Sql = sql!("SELECT user_id FROM memberships WHERE org = ?1 AND role = ?2 LIMIT 2");
const GET: Sql = sql!(
    "SELECT u.id, u.email, u.name, m.role FROM memberships m JOIN users u ON u.id = m.user_id
     WHERE m.org = ?1 AND m.user_id = ?2"
);
const LIST: Sql = sql!(
    "SELECT u.id, u.email, u.name, m.role FROM memberships m JOIN users u ON u.id = m.user_id
     WHERE m.org = ?1 AND m.user_id > ?2 ORDER BY m.user_id LIMIT ?3"
);

impl OrgStore<'_> {
    /// Adds a user to the org or changes their role. Fails with
    /// [`StoreError::LastWithRole`] if the role they leave must be held and has no other
    /// holder, and with [`StoreError::NotFound`] if the role does not exist in this
    /// kind of org.
    pub fn set_member(&self, user: UserId, role: Role) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| set_member(tx, org, user, role))
    }

    /// Removes a user from the org; their account stays. Fails with
    /// [`StoreError::LastWithRole`] like [`set_member`](Self::set_member).
    pub fn remove_member(&self, user: UserId) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| remove(tx, org, user))
    }

    /// Returns a member of the org.
    pub fn member(&self, user: UserId) -> StoreFuture<Member> {
        self.one("user", &GET, [user.into()], read_member)
    }

    /// Returns the members after `after`, ordered by user id.
    pub fn members(&self, after: Option<UserId>, limit: u32) -> StoreFuture<Vec<Member>> {
        let after = after.unwrap_or(UserId::from_u128(0));
        self.rows(&LIST, [after.into(), limit.into()], read_member)
    }
}

/// Lists members of an org, inside a transaction.
pub(crate) fn list(tx: &Tx, org: OrgId, after: UserId, limit: u32) -> Result<Vec<Member>> {
    let rows = tx.query(&LIST, &[org.into(), after.into(), limit.into()])?;
    rows.iter().map(read_member).collect()
}

/// Removes a member of an org, inside a transaction.
pub(crate) fn remove(tx: &Tx, org: OrgId, user: UserId) -> Result<()> {
    lock_org(tx, org)?;
    let role = role_of(tx, org, user)?.ok_or(StoreError::NotFound("user"))?;
    check_may_leave(tx, org, role)?;
    tx.execute(&REMOVE, &[org.into(), user.into()]).map(drop)
}

/// Adds a member to an org or changes their role, inside a transaction.
pub(crate) fn set_member(tx: &Tx, org: OrgId, user: UserId, role: Role) -> Result<()> {
    if !role.exists_in(lock_org(tx, org)?.place) {
        return Err(StoreError::NotFound("role"));
    }
    if let Some(before) = role_of(tx, org, user)?
        && before != role
    {
        check_may_leave(tx, org, before)?;
    }
    let set = tx.execute(&SET, &[org.into(), user.into(), role.name().into()]);
    // The org exists, so the missing reference is the user.
    set.map(|_| ()).map_err(|error| match error {
        StoreError::NotFound(_) => StoreError::NotFound("user"),
        other => other,
    })
}

/// Returns the role of a user in an org, inside a transaction.
pub(crate) fn role_of(tx: &Tx, org: OrgId, user: UserId) -> Result<Option<Role>> {
    let row = tx.first(&ROLE, &[org.into(), user.into()])?;
    row.map(|row| row.parsed(0, "role")).transpose()
}

/// Checks that a holder of a role may leave it. The org is locked, so of two who
/// leave concurrently the second sees that the first has gone.
fn check_may_leave(tx: &Tx, org: OrgId, role: Role) -> Result<()> {
    let holders = tx.query(&HOLDERS, &[org.into(), role.name().into()])?;
    if role.must_be_held() && holders.len() < 2 {
        return Err(StoreError::LastWithRole(role));
    }
    Ok(())
}

fn read_member(row: &Row) -> Result<Member> {
    Ok(Member { user: read_user(row)?, role: row.parsed(3, "role")? })
}
