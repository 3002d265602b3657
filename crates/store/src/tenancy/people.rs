//! Changes of members, invitations and users, each with its audit entry.

use ostler_domain::id::{InvitationId, OrgId, UserId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::{InvitationCode, PasswordHash};

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::error::{Result, StoreError};
use crate::tenancy::audited_write::AuditedWrite;
use crate::tenancy::invitations::{self, NewInvitation};
use crate::tenancy::members;
use crate::tenancy::orgs::lock_org;
use crate::tenancy::users::{self, User};

/// The account of a person who becomes a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberAccount {
    Existing(UserId),
    /// Is created without a password.
    New(User),
}

impl MemberAccount {
    /// Returns the id of the account.
    pub const fn id(&self) -> UserId {
        match self {
            Self::Existing(id) => *id,
            Self::New(user) => user.id,
        }
    }
}

impl AuditedWrite<'_> {
    /// Adds a person to the org or changes their role, which must still be `before`. An
    /// open invitation of theirs is withdrawn. Fails like
    /// [`OrgStore::set_member`](crate::OrgStore::set_member).
    pub fn set_member(
        self,
        account: MemberAccount,
        before: Option<Role>,
        role: Role,
    ) -> StoreFuture<()> {
        self.run_with_users(move |tx, org| {
            set_member(tx, org, &account, before, role)?;
            let user = users::email_of(tx, account.id())?;
            invitations::withdraw(tx, org, &user).map(drop)
        })
    }

    /// Removes a member whose role is still `before`. Fails like
    /// [`OrgStore::remove_member`](crate::OrgStore::remove_member).
    pub fn remove_member(self, user: UserId, before: Role) -> StoreFuture<()> {
        self.run(move |tx, org| {
            check_unchanged(tx, org, user, Some(before))?;
            members::remove(tx, org, user)
        })
    }

    /// Creates an invitation, instead of an open one for the same e-mail address.
    pub fn create_invitation(self, new: NewInvitation, code: &InvitationCode) -> StoreFuture<()> {
        let hash = invitations::hash(code);
        self.run(move |tx, org| invitations::create(tx, org, &new, &hash))
    }

    /// Withdraws the open invitation for an e-mail address.
    pub fn withdraw_invitation(self, email: &str) -> StoreFuture<()> {
        let email = email.to_owned();
        self.run(move |tx, org| match invitations::withdraw(tx, org, &email)? {
            0 => Err(StoreError::NotFound("open invitation")),
            _ => Ok(()),
        })
    }

    /// Uses up an open invitation: the person becomes a member, once. The password is set if
    /// the account has none.
    pub fn accept_invitation(
        self,
        id: InvitationId,
        account: MemberAccount,
        role: Role,
        password: Option<PasswordHash>,
    ) -> StoreFuture<()> {
        self.run_with_users(move |tx, org| {
            invitations::accept(tx, org, id)?;
            set_member(tx, org, &account, None, role)?;
            match &password {
                Some(password) if users::account_of(tx, account.id())?.password.is_none() => {
                    users::set_password(tx, account.id(), password)
                }
                _ => Ok(()),
            }
        })
    }

    /// Changes a user's e-mail address and name.
    pub fn update_user(self, user: User) -> StoreFuture<()> {
        self.run_with_users(move |tx, _| users::update(tx, &user))
    }
}

fn set_member(
    tx: &Tx,
    org: OrgId,
    account: &MemberAccount,
    before: Option<Role>,
    role: Role,
) -> Result<()> {
    if let MemberAccount::New(user) = account {
        users::create_without_password(tx, user)?;
    }
    check_unchanged(tx, org, account.id(), before)?;
    members::set_member(tx, org, account.id(), role)
}

/// Checks that a person still has the role that the caller decided about.
fn check_unchanged(tx: &Tx, org: OrgId, user: UserId, before: Option<Role>) -> Result<()> {
    lock_org(tx, org)?;
    if members::role_of(tx, org, user)? == before {
        return Ok(());
    }
    Err(StoreError::Conflict("another change of this member".into()))
}
