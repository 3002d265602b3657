//! The people of an org and their roles in it. The last one in a role that an
//! org cannot do without stays.

use ostler_domain::id::{OrgId, UserId};
use ostler_domain::org::role::Role;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::orgs::hold;
use crate::users::{User, user};

/// One of an org's people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The person.
    pub user: User,
    /// Their role in the org.
    pub role: Role,
}

const SET: Sql = sql!(
    "INSERT INTO memberships (org, user_id, role) VALUES (?1, ?2, ?3)
     ON CONFLICT (org, user_id) DO UPDATE SET role = excluded.role"
);
const REMOVE: Sql = sql!("DELETE FROM memberships WHERE org = ?1 AND user_id = ?2");
const ROLE: Sql = sql!("SELECT role FROM memberships WHERE org = ?1 AND user_id = ?2");
/// Two of them are enough to know that one may go.
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
    /// Takes a person into the org, or changes their role. The last owner keeps
    /// theirs, and only the platform has platform admins.
    pub async fn set_member(&self, user: UserId, role: Role) -> Result<()> {
        self.store.write(Set(self.org, user, role)).await
    }

    /// Takes a person out of the org; the last owner stays. Their log-in and
    /// their other orgs are theirs.
    pub async fn remove_member(&self, user: UserId) -> Result<()> {
        self.store.write(Remove(self.org, user)).await
    }

    /// One of the org's people.
    pub async fn member(&self, user: UserId) -> Result<Member> {
        self.store.read(Get(self.org, user)).await
    }

    /// The org's people after one of them, in the order of their ids.
    pub async fn members(&self, after: Option<UserId>, most: u32) -> Result<Vec<Member>> {
        let after = after.unwrap_or(UserId::from_u128(0));
        self.store.read(List(self.org, after, most)).await
    }
}

struct Set(OrgId, UserId, Role);

impl Operation for Set {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, user, role) = *self;
        if !role.exists_in(hold(tx, org).await?.place) {
            return Err(StoreError::NotFound("role"));
        }
        if let Some(before) = role_of(tx, org, user).await?
            && before != role
        {
            leave(tx, org, before).await?;
        }
        let set = tx.execute(&SET, &[org.into(), user.into(), role.name().into()]).await;
        // The org is there; what the row refers to in vain is the person.
        set.map(|_| ()).map_err(|error| match error {
            StoreError::NotFound(_) => StoreError::NotFound("user"),
            other => other,
        })
    }
}

struct Remove(OrgId, UserId);

impl Operation for Remove {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, user) = *self;
        hold(tx, org).await?;
        let role = role_of(tx, org, user).await?.ok_or(StoreError::NotFound("user"))?;
        leave(tx, org, role).await?;
        tx.execute(&REMOVE, &[org.into(), user.into()]).await?;
        Ok(())
    }
}

async fn role_of<T: Tx>(tx: &T, org: OrgId, user: UserId) -> Result<Option<Role>> {
    let row = tx.first(&ROLE, &[org.into(), user.into()]).await?;
    row.map(|row| row.written(0, "role")).transpose()
}

/// Whether somebody may leave a role. The org is held, so that of two who leave
/// at the same time one sees that the other has gone.
async fn leave<T: Tx>(tx: &T, org: OrgId, role: Role) -> Result<()> {
    let holders = tx.query(&HOLDERS, &[org.into(), role.name().into()]).await?;
    if role.must_be_held() && holders.len() < 2 {
        return Err(StoreError::LastOf(role));
    }
    Ok(())
}

struct Get(OrgId, UserId);

impl Operation for Get {
    type Output = Member;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Member> {
        let row = tx.first(&GET, &[self.0.into(), self.1.into()]).await?;
        member(&row.ok_or(StoreError::NotFound("user"))?)
    }
}

struct List(OrgId, UserId, u32);

impl Operation for List {
    type Output = Vec<Member>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<Member>> {
        let params = [self.0.into(), self.1.into(), self.2.into()];
        tx.query(&LIST, &params).await?.iter().map(member).collect()
    }
}

fn member(row: &Row) -> Result<Member> {
    Ok(Member { user: user(row)?, role: row.written(3, "role")? })
}
